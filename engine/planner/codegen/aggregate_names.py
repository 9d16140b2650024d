"""The names by which each engine knows its aggregate and window functions.

A template may have the engine's aggregate call anywhere inside it (`CAST(SUM($1) AS BIGINT)`). DISTINCT, ORDER BY,
FILTER and OVER belong on that call, and these names tell which calls of a template are aggregate or window calls.

Sources: duckdb_functions() of DuckDB 2.0; the built-in aggregate and window functions of Spark 4.1.
"""

from __future__ import annotations

from typing import Final

from engine.contracts.query_id import EngineName

_SHARED: Final = """
    any_value approx_count_distinct array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if covar_pop
    covar_samp first histogram kurtosis last listagg max max_by mean median min min_by mode regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness std stddev stddev_pop stddev_samp string_agg sum
    var_pop var_samp variance percentile_cont percentile_disc
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
"""

_LOCAL: Final = """
    approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_min arg_min_null argmax argmin bitstring_agg
    count_star countif entropy favg fsum group_concat histogram_exact kahan_sum kurtosis_pop list lttb mad product quantile
    quantile_cont quantile_disc reservoir_quantile sem sum_no_overflow sumkahan fill
"""

_SPARK: Final = """
    any approx_percentile array_union_agg bitmap_construct_agg bitmap_or_agg collect_list collect_set count_min_sketch
    every grouping_id hll_sketch_agg hll_union_agg percentile percentile_approx some sum_distinct try_avg try_sum
"""

AGGREGATES: Final[dict[EngineName, frozenset[str]]] = {
    "local": frozenset((_SHARED + _LOCAL).split()),
    "spark": frozenset((_SHARED + _SPARK).split()),
}
