"""All judgements, article by article."""

from claims import (
    scaling_gradient,
    scaling_saturation,
    scaling_spread,
    single_head,
    softmax_formula,
    softmax_row,
    summary,
    weighted_sum,
)

JUDGEMENTS = [
    *scaling_spread.JUDGEMENTS,
    *scaling_saturation.JUDGEMENTS,
    *scaling_gradient.JUDGEMENTS,
    *softmax_formula.JUDGEMENTS,
    *softmax_row.JUDGEMENTS,
    *weighted_sum.JUDGEMENTS,
    *single_head.JUDGEMENTS,
    *summary.JUDGEMENTS,
]
