"""Operation counts as the literature gives them: the tables of the thesis and others, beside ours for the same arms."""

from dalembert.costs.tables import arm_counts, cost_tables, count_algorithm, generic_arm, table_counts

__all__ = ["arm_counts", "cost_tables", "count_algorithm", "generic_arm", "table_counts"]
