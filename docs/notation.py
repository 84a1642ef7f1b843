# %% [markdown]
# # Notation
#
# What each letter means, on every page and in every derivation, and what it is called in the code.
#
# A score comes before softmax, a weight after. Rows are queries. A vector is a column on paper and the
# last axis in code. These letters mean the same everywhere:

# %% tags=["hide-input"]
from attnref import show

SHARED = [
    (r"t = 1, \dots, n", "queries", "one of the queries", "axis `L`"),
    (r"s = 1, \dots, m", "keys", "one of the keys", "axis `S`"),
    ("q_t", "query", "query, $d_k$ components", "`query`"),
    ("k_s", "key", "key, $d_k$ components", "`key`"),
    ("v_s", "value", "value, $d_v$ components", "`value`"),
    (r"\beta", "scale", r"scale, $1/\sqrt{d_k}$ unless given", "`scale`"),
    ("a_{ts}", "score", r"score, $\beta\langle q_t, k_s\rangle$", "`scores`"),
    ("Z_t", "normaliser", r"normaliser, $\sum_s \exp(a_{ts})$", "`log_partition`"),
    ("N_t", "numerator", r"numerator, $\sum_s \exp(a_{ts})\, v_s$", ""),
    ("m_t", "exponent", "reference exponent, any finite number", ""),
    ("p_{ts}", "weight", r"weight, $\exp(a_{ts})/Z_t$", "`weights`"),
    ("y_t", "output", r"output, $N_t/Z_t$", "`output`"),
    ("H_t", "entropy", r"entropy of the weights, $-\sum_s p_{ts}\log p_{ts}$", ""),
    (
        r"\mathrm{sink}_t",
        "sink",
        "score of one more key, without a value",
        "`sink`",
    ),
]


class Table:
    """Rows under a head: a table on the page, lines in a terminal."""

    def __init__(self, head, rows):
        self.lines = [head, "|---" * (head.count("|") - 1) + "|", *rows]

    def __str__(self):
        return "\n".join(self.lines)

    _repr_markdown_ = __str__


rows = [
    f"| ${letter}$ | {meaning} | {code} |" for letter, _, meaning, code in SHARED
]
show(Table("| letter | meaning | in code |", rows))

# %% [markdown]
# Other indices on a letter say which one is meant, and no more: $k_{si}$ is a component of a key, $Z_A$ the
# normaliser of a state $A$. The numbers of queries, keys and components are $n$, $m$, $d_k$ and $d_v$.
#
# Every derivation declares each of its letters. Do they keep to the table? For each letter of the table
# that a derivation declares, the declaration has to say the same thing:

# %% tags=["fold-input"]
import re

from attnref.derivations import RECORDS

heads = {letter.split("_")[0].split(" ")[0]: head for letter, head, *_ in SHARED}
heads["m"] = "number of keys"  # without an index; with one it is an exponent
declared, others = 0, {}
for record in RECORDS:
    for quantity in record.symbols:
        symbol = quantity.letter
        base = re.split(r"['_]", symbol)[0]
        head = "exponent" if base == "m" and symbol != "m" else heads.get(base)
        if head is None:
            others.setdefault(base, {}).setdefault(quantity.meaning, []).append(
                record.tag
            )
        elif head in quantity.meaning:
            declared += 1
        else:
            raise ValueError(
                f"{record.tag}: {symbol} is {quantity.meaning}, not {head}"
            )
print(f"{declared} declarations in {len(RECORDS)} derivations, no exception")

# %% [markdown]
# ## Letters of one derivation
#
# All other letters belong to the derivations that declare them, and one letter may serve two of them:

# %% tags=["hide-input"]
rows = []
for base, meanings in sorted(others.items()):
    for meaning, tags in meanings.items():
        links = ", ".join(f"[{tag}](d/{tag}.py)" for tag in tags)
        rows.append(f"| ${base}$ | {meaning} | {links} |")
show(Table("| letter | meaning | where |", rows))
