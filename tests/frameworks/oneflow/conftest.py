from oneflow_fixtures import no_failure_left_behind, shipped, short_graphs_may_run

__all__ = ["no_failure_left_behind", "shipped", "short_graphs_may_run"]
