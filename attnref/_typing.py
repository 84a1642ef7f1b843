"""The kinds of argument that the NumPy side speaks of."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]
Sink = Floats | float
