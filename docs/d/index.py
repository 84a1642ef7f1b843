# %% [markdown]
# # Derivations
#
# Each derivation is a record: a statement, what it rests on, and steps that a program has checked one by
# one. Their letters are those of the [notation](../notation.py).
#
# The form:
#
# - [ZFRM](ZFRM.py), the Z form: attention for one query, divided once.
#
# Shifts and merging:
#
# - [SHFT](SHFT.py), a shift of the scores: $Z_t$ is multiplied, the weights stay.
# - [KSHF](KSHF.py), one vector added to every key: such a shift.
# - [MSHF](MSHF.py), merging at any reference exponent: two partial states, one output.
# - [MBLK](MBLK.py), two blocks of keys: their states merge into attention to all.
# - [MCOM](MCOM.py), [MASS](MASS.py), [MIDN](MIDN.py): merging is commutative and associative, and the empty
#   state is its identity.
# - [ONLN](ONLN.py), online softmax: block after block, any number of them.
#
# Sinks and limits:
#
# - [SINK](SINK.py), a sink is a gate: the output times the share of the keys.
# - [MSNK](MSNK.py), a sink is merged once: a state of its own.
# - [SEMP](SEMP.py), the empty row as a limit: 0 with a sink, and none without.
# - [DUPL](DUPL.py), a key that is repeated: a bias of $\ln r$.
#
# Gradients:
#
# - [PSUM](PSUM.py), the weights of a row add up to 1.
# - [LZGR](LZGR.py), [LZGQ](LZGQ.py) and [LZHS](LZHS.py), the derivatives of $\log Z_t$: the weights, the
#   expected key, the covariances of the keys.
# - [AGRD](AGRD.py), attention is a gradient.
# - [SJAC](SJAC.py), the Jacobian of softmax; [SNUL](SNUL.py), its rows add up to 0.
# - [SVAR](SVAR.py) and [SHLF](SHLF.py), its eigenvalues: between 0 and 1/2.
# - [BWDV](BWDV.py), [BWDS](BWDS.py), [BWDQ](BWDQ.py) and [BWDK](BWDK.py), the backward pass: values, scores,
#   queries, keys; [BWDR](BWDR.py), a row of it adds up.
# - [GQAG](GQAG.py), the gradient of a shared key: the sum over the heads that read it.
# - [SCAP](SCAP.py), the slope of a soft cap; [CAPU](CAPU.py) and [CAPL](CAPL.py), how far a score is from it.
# - [CAPW](CAPW.py) and [SCMK](SCMK.py), weights under a cap, and why a mask comes after it.
# - [ENTR](ENTR.py) and [ENTD](ENTD.py), the entropy of a row, and its fall as the scale grows.
#
# Moments:
#
# - [VDOT](VDOT.py), the variance of a dot product: $d_k$, and what that needs.
# - [VSCL](VSCL.py), the variance of a score: 1, after the division by $\sqrt{d_k}$.
# - [VGEN](VGEN.py), the variance of a dot product, with means.
# - [ECOR](ECOR.py) and [VCOR](VCOR.py), a query and a key that are correlated: mean and variance.
# - [EUNI](EUNI.py) and [VUNI](VUNI.py), scores of uniform numbers: mean and variance.
# - [VKEY](VKEY.py) and [VROW](VROW.py), the variance across the keys of one query, and for uniform numbers.
# - [KURT](KURT.py), the kurtosis of a score: how soon it is 3.
# - [DRPM](DRPM.py) and [DRPV](DRPV.py), weights dropped at random: mean and variance of the output.
#
# Other views:
#
# - [LINA](LINA.py) and [LINS](LINS.py), linear attention: products of features, and a state that adds.
# - [KRNL](KRNL.py), attention as a kernel average; [KGAU](KGAU.py), keys of one length.
#
# Bounds, limits and log Z:
#
# - [LZLO](LZLO.py) and [LZUP](LZUP.py), log Z is at least the greatest score, and at most log m more.
# - [LOGP](LOGP.py) and [LOGN](LOGN.py), one key ahead of many: its weight, and the lead that keeps it.
# - [TGAP](TGAP.py), what the greatest score leaves to the others; [TZER](TZER.py), a scale of 0.
# - [VENT](VENT.py) and [VARI](VARI.py), log Z is the most that mean score and entropy add up to.
# - [BREG](BREG.py), the divergence of two rows of weights: log Z above its tangent.
# - [ALBZ](ALBZ.py) and [ALBD](ALBD.py), ALiBi by itself: normaliser and mean distance.
# - [PAXT](PAXT.py) and [CMRG](CMRG.py), covariances of keys: around any point, and over two parts.
#
# A step may use only the laws it names, so the page of a derivation can say where each assumption is
# needed. And each derivation was also given wrong lines, some of them [once in print](../errata.py), which
# the same check must refuse. Here it runs again:

# %%
from attnref.derivations import RECORDS, verify

verdicts = [verify(record) for record in RECORDS]
proved = sum(verdict.proved for verdict in verdicts)
steps = sum(len(verdict.steps) for verdict in verdicts)
refused = sum(result.good for verdict in verdicts for result in verdict.variants)
print(f"{proved} of {len(RECORDS)} derivations proved")
print(f"{steps} steps, {refused} wrong lines refused")

# %% [markdown]
# ## What rests on what
#
# A derivation may use the statement of another one. Those that do, and what they use:

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure


def depth(record):
    """Say how many derivations stand below this one, at most, one on the other."""
    return max((1 + depth(used) for used in record.uses), default=0)


used = {other.tag for record in RECORDS for other in record.uses}
linked = [record for record in RECORDS if record.uses or record.tag in used]
columns = {}
for record in sorted(linked, key=depth):
    columns.setdefault(depth(record), []).append(record)
place = {
    record.tag: (column, (row + 0.5) / len(records))
    for column, records in columns.items()
    for row, record in enumerate(reversed(records))
}
arrows = [(other.tag, record.tag) for record in linked for other in record.uses]
graph = Figure(
    "Which derivations use which",
    "; ".join(
        f"{record.tag} uses {', '.join(u.tag for u in record.uses)}"
        for record in linked
        if record.uses
    )
    + ".",
    f"An arrow leads from a statement to the derivation that uses it; the other "
    f"{len(RECORDS) - len(linked)} derivations use none.",
    height=4.6,
)
for start, end in arrows:
    (x, y), (u, v) = place[start], place[end]
    graph.axes.annotate(
        "",
        (u - 0.14, v),
        (x + 0.14, y),
        arrowprops={"arrowstyle": "->", "color": MUTED},
    )
for tag, (x, y) in place.items():
    color = INK if x else ACCENT
    graph.axes.text(x, y, tag, ha="center", va="center", color=color)
graph.axes.set(xlim=(-0.3, max(columns) + 0.3), ylim=(0, 1))
graph.axes.axis("off")
show(graph)

# %% [markdown]
# ## How a step is checked
#
# Both lines are brought into a normal form: sums are opened, constants leave them, indices are renamed,
# and each exponential counts as a positive unknown. What is left are fractions of polynomials, and
# whether two of them are equal can be decided. Derivatives follow the usual rules, an inequality has to
# show as a sum of terms that are not negative, and a statement for every $n$ may be proved by induction. A step that is not shown to be equal is not proved, and a
# division by what might be 0 is no step. The number of keys $m$ and the width $d_k$ stay letters
# throughout, so a proof holds for all of them.
