# %% [markdown]
# # attnref
#
# The reference on scaled dot-product attention: every formula derived, every number computed, and
# every edge case decided.
#
# A query $q_t$ is compared with keys $k_1, \dots, k_m$, and the values $v_1, \dots, v_m$ that belong
# to the keys are averaged, each by how well its key fits:
#
# $$
# y_t = \frac{1}{Z_t} \sum_{s=1}^{m} \exp\left(\frac{\langle q_t, k_s\rangle}{\sqrt{d_k}}\right) v_s,
# \qquad
# Z_t = \sum_{s=1}^{m} \exp\left(\frac{\langle q_t, k_s\rangle}{\sqrt{d_k}}\right)
# \label{attention}
# $$
#
# Here $d_k$ is the number of entries in a query or a key. The number $Z_t$ makes the weights of one
# query add up to 1, and keeping it in sight is the one idea of this site. Two queries, three keys:

# %%
import numpy as np

from attnref import attention, attention_weights

query = np.array([[1.0, 2.0], [0.0, -1.0]])
key = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
value = np.array([[10.0], [20.0], [30.0]])

print(attention_weights(query, key).round(4))
print(attention(query, key, value).round(4))

# %% [markdown]
# The first query puts most of its weight on the third key, which points its way. The second points
# away from the last two, so the first key gets the most. Each row of weights adds up to 1.
#
# ## Where to go
#
# **To learn**, read [The Z form](guide/z-form.py), which builds the formula from one query and one
# key, then [Why divide by √dₖ](guide/scaling.py), which finds out where the root comes from. Each
# is one sitting.
#
# **To cite**, see [How to cite](cite.py). Derivations carry a tag that stays, and every displayed
# equation has a link of its own: follow the number beside it.
#
# **To run**, clone the project and type `python3 scripts/serve.py`. The package is NumPy alone at its
# core; `attnref.torch` says the same in Torch, and a boolean mask, an empty row or a NaN in a masked
# key each have one right answer there and here.
#
# ## What stands behind a sentence
#
# Three words are kept apart. *Proved* means that a computer algebra system has derived each step of
# a formula from the step before. *Checked* means that code agrees with an independent computation at
# sizes that are named. *Measured* means a number with its error. What no program can show is not
# called any of the three.
