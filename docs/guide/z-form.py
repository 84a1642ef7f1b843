# %% [markdown]
# # The Z form
#
# You will see *one* thing, $d_k$, and [a link](#run-and-cite-this-page).
#
# $$
# y_t = \frac{1}{Z_t}\sum_{s=1}^{m} e^{a_{ts}} v_s \label{eq-z}
# $$
#
# See \eqref{eq-z}. It's `{python} 1 + 1`.
#
# !!! note
#     An admonition.

# %%
import numpy as np

print(np.arange(3))
