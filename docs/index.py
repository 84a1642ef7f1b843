# %% [markdown]
# # attnref
#
# The reference on scaled dot-product attention: its formulas derived step by step, its examples
# computed, its edge cases decided.
#
# A query $q_t$ is compared with keys $k_1, \dots, k_m$, and the values $v_1, \dots, v_m$ that belong
# to the keys are averaged, each by how well its key fits:
#
# $$
# y_t = \frac{1}{Z_t} \sum_{s=1}^{m} \exp\left(\frac{\langle q_t, k_s\rangle}{\sqrt{d_k}}\right) v_s,
# \label{attention}
# $$
#
# where $d_k$ is the number of entries in a query or a key. The number $Z_t$ makes the weights of one
# query add up to 1,
#
# $$
# Z_t = \sum_{s=1}^{m} \exp\left(\frac{\langle q_t, k_s\rangle}{\sqrt{d_k}}\right),
# \label{normaliser}
# $$
#
# and keeping it in sight is the one idea of this site. Two queries, three keys:

# %%
from attnref import attention, attention_weights
import numpy as np

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
# **To learn**, start with [One query and one key](guide/one-query.py). The guide goes on from page to page:
# the formula, [the root in it](guide/scaling.py), [softmax](guide/softmax.py), and
# [a sentence that attends to itself](guide/self-attention.py). It grew out of
# [two articles](articles/index.py), whose every number is computed again. What $Z$ unlocks comes after:
# [partial results that merge](guide/merging.py), and with them [long texts](guide/streaming.py),
# [many machines](guide/machines.py) and [the way back](guide/backward.py).
#
# **To cite**, see [How to cite](cite.py). [Derivations](d/index.py) carry a tag that stays, and every displayed
# equation has a link of its own: follow the number beside it.
#
# **To look something up**, [The contract](contract.py) says what happens in every case that libraries decide
# differently, the [reference](reference/index.md) has every name, and the [notation](notation.py) every letter.
#
# **To run**, clone the project and type `python3 scripts/serve.py`. The package works on NumPy arrays,
# and `attnref.torch` has the same in Torch.
#
# **To take part**, read [Contributing](contributing.md), where the house is drawn.
#
# ## What stands behind a sentence
#
# Three words are kept apart. *Proved* means that a program has checked that each line of a derivation
# follows from the one before, by the laws it names. *Checked* means that code agrees with an
# independent computation at sizes that are named. *Measured* means a number with its error.
