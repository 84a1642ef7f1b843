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
    z_form_code,
    z_form_demo,
    z_form_formulas,
    z_form_library,
    z_form_printing,
)

JUDGEMENTS = [
    *z_form_formulas.JUDGEMENTS,
    *z_form_library.JUDGEMENTS,
    *z_form_code.JUDGEMENTS,
    *z_form_printing.JUDGEMENTS,
    *z_form_demo.JUDGEMENTS,
    *scaling_spread.JUDGEMENTS,
    *scaling_saturation.JUDGEMENTS,
    *scaling_gradient.JUDGEMENTS,
    *softmax_formula.JUDGEMENTS,
    *softmax_row.JUDGEMENTS,
    *weighted_sum.JUDGEMENTS,
    *single_head.JUDGEMENTS,
    *summary.JUDGEMENTS,
]
