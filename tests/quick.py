"""What ``make test`` leaves out: whole tests that are slow, and most cases of laws that are tried on very many.

Every test here has others of the same law that always run: a smaller robot, another method, fewer examples.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

QUICK = os.environ.get("HYPOTHESIS_PROFILE") == "quick"
"""Whether this is the run of ``make test``."""


def some(cases: Sequence[T], count: int) -> list[T]:
    """All cases, or in the quick run so many, spread over all of them."""
    return spread(cases, count) if QUICK else list(cases)


def spread(cases: Sequence[T], count: int) -> list[T]:
    """So many of all, from the first on, at even distances."""
    return [cases[k * len(cases) // count] for k in range(count)] if len(cases) > count else list(cases)


SLOW: dict[str, tuple[str, ...]] = {
    "compiles the longest CUDA sources there are, of walking robots, with real compilers": (
        "tests/cuda/test_warps.py::test_idle_workers_meet_the_others_at_every_barrier",
        "tests/cuda/test_cuda_export.py::test_a_kernel_that_needs_a_large_card_has_one_for_small_cards_beside_it",
        "tests/cuda/test_cuda_export.py::test_blocks_take_no_more_shared_memory_than_the_card_has",
        "tests/cuda/test_cuda_export.py::test_stages_are_compiled_without_a_warning",
        "tests/cuda/test_cuda_export.py::test_what_has_stages_is_exported_in_stages",
        "tests/cuda/test_cuda_stages.py::test_sources_of_stages_on_columns_compile",
        "tests/cuda/test_warps.py::test_a_vast_program_is_printed_in_pieces_that_compilers_can_take",
    ),
    "starts a cluster, or further processes, and waits for them": (
        "tests/cli/test_application.py::test_a_signal_ends_a_long_command_at_once",
        "tests/simulation/test_simulate.py::test_progress_on_a_terminal_waits_until_work_is_long",
        "tests/test_package.py::test_the_wheel_holds_code_types_and_robots",
        "tests/simulation/test_sweep.py::test_cluster_gives_the_same_motions",
        "tests/simulation/test_sweep.py::test_nothing_is_lost_when_a_worker_is_killed",
        "tests/attack/test_task_identity.py::test_every_edit_is_seen_or_asked_about",
        "tests/attack/test_sweeps.py::test_a_cluster_without_workers_or_scheduler_is_answered",
        "tests/test_notebooks.py::test_a_notebook_runs",
        "tests/test_extras.py::test_extras_that_are_hinted_at_exist_and_bring_the_package",
        "tests/test_extras.py::test_nothing_breaks_without_extras",
    ),
    "builds the whole manual and looks at it in a browser": (
        "tests/test_docs.py::test_the_site_builds_strictly_and_asks_nobody_for_anything",
    ),
    "repeats a measurement very often, for statistics of its error": (
        "tests/identification/test_identification.py::test_payload_from_encoders_and_noisy_torques_of_a_simulated_arm",
        "tests/identification/test_identification.py::test_excitation_tells_rich_from_poor_motions",
        "tests/identification/test_identification.py::test_intervals_contain_the_truth_as_often_as_they_say",
        "tests/identification/test_identification.py::test_few_samples_make_intervals_wider",
        "tests/identification/test_identification.py::test_weighting_pays_when_joints_differ",
    ),
    "derives, counts or verifies large mechanisms, or the same one in several ways": (
        "tests/cli/test_commands.py::test_demo_does_the_main_job",
        "tests/cli/test_commands.py::test_derive_takes_the_way_of_closing_that_q_says",
        "tests/cli/test_commands.py::test_derive_tells_what_was_left_out_in_every_form",
        "tests/cli/test_commands.py::test_verify_fails_where_constraints_cannot_be_assembled",
        "tests/formulations/test_ways_of_closing.py::test_loops_that_seldom_close_are_not_waited_for",
        "tests/report/test_report_documents.py::test_twelve_joints_are_told_in_short",
        "tests/viewer/test_viewer_page.py::test_symbols_get_the_values_of_the_motion",
        "tests/cli/test_commands.py::test_cost_knows_every_quantity",
        "tests/cli/test_commands.py::test_costs_are_those_of_the_library",
        "tests/cli/test_commands.py::test_published_counts_are_not_set_beside_other_mechanisms",
        "tests/algorithms/test_selection.py::test_every_choice_exists_and_has_a_reason",
        "tests/algorithms/test_selection.py::test_sliding_joints_prefer_the_tensor_form",
        "tests/formulations/test_verification.py::test_a_big_robot_leaves_out_what_would_take_too_long",
        "tests/report/test_report_documents.py::test_six_joints_stay_small",
        "tests/viewer/test_viewer_page.py::test_equations_are_mathematics_for_small_mechanisms_and_counts_for_large_ones",
        "tests/viewer/test_viewer_page.py::test_no_warning_for_ordinary_robots",
    ),
    "follows long motions, with the tightest tolerances or many pictures": (
        "tests/constraints/test_rolling.py::test_a_rattleback_reverses_its_spin",
        "tests/constraints/test_textbook_equations.py::test_rattleback_follows_the_equations_of_rolling_in_body_axes",
        "tests/simulation/test_rollout.py::test_energy_drift_of_every_stepper_over_a_million_steps",
        "tests/simulation/test_trajectory.py::test_plot",
        "tests/simulation/test_known_motions.py::test_chaotic_double_pendulum_agrees_with_thirty_digits",
        "tests/simulation/test_simulated_loops.py::test_motions_beyond_the_reach_of_loops_end_where_the_loop_would_open",
        "tests/simulation/test_ten_seconds.py::test_singular_positions_are_passed_with_a_fixed_step",
    ),
    "compiles hundreds of kernels to see their memory come back": (
        "tests/native/test_kernel_calls.py::test_kernels_are_freed_with_their_code",
    ),
}
"""Reason -> tests that only ``make test-all`` runs: single tests with all their cases, or whole files."""

REPEATED: dict[str, int] = {
    "tests/algebra/test_spectral.py::test_exact_constants": 4,
    "tests/algorithms/test_contest.py::test_many_velocities_and_symbols_lose_little_against_algorithms_by_name": 1,
    "tests/algorithms/test_contest.py::test_no_algorithm_by_name_has_fewer_operations": 5,
    "tests/algorithms/test_contest.py::test_the_other_half_of_the_inertia_matrix_costs_nothing": 8,
    "tests/algorithms/test_economy.py::test_dynamics_is_unchanged": 8,
    "tests/algorithms/test_parsa_coriolis.py::test_forces_and_skew_symmetry": 4,
    "tests/algorithms/test_regressor.py::test_rules_do_not_depend_on_the_length_of_links": 2,
    "tests/algorithms/test_regressor.py::test_rules_of_symbolic_mechanisms_are_complete_and_exact": 3,
    "tests/algorithms/test_selection.py::test_no_algorithm_by_name_is_cheaper_than_the_kernel": 1,
    "tests/algorithms/test_selection.py::test_the_chosen_forward_dynamics_is_the_cheaper_one": 2,
    "tests/algorithms/test_sensitivity.py::test_coriolis_matrix": 3,
    "tests/algorithms/test_sensitivity.py::test_derivatives_of_inverse_dynamics": 3,
    "tests/algorithms/test_structural_outputs.py::test_packed_and_structural_nonzeros_make_up_the_matrices": 1,
    "tests/algorithms/test_symbolic_algorithms.py::test_symbols_and_numbers_agree": 8,
    "tests/attack/test_faults.py::test_whatever_fails_nothing_is_wrong_or_lost": 1,
    "tests/attack/test_numbers.py::test_the_length_of_a_quaternion_does_not_matter": 8,
    "tests/attack/test_replay.py::test_what_failed_once_does_not_fail_again": 60,
    "tests/cli/test_application.py::test_a_reader_that_goes_away_is_no_error": 1,
    "tests/cli/test_commands.py::test_derive_keeps_the_velocity_that_is_named": 1,
    "tests/cli/test_commands.py::test_verify_finds_agreement": 2,
    "tests/cli/test_option_sweep.py::test_options_together_are_obeyed_or_refused": 10,
    "tests/comparison/test_compare.py::test_one_change_is_named": 14,
    "tests/constraints/test_assembly_and_analysis.py::"
    "test_a_second_hinge_on_the_axis_of_the_first_changes_nothing_wherever_the_door_stands": 3,
    "tests/constraints/test_every_size.py::test_kernels_of_loops_with_a_changing_redundancy_do_not_mind_the_size": 2,
    "tests/constraints/test_far_starts.py::test_loops_close_from_anywhere": 2,
    "tests/constraints/test_orbits.py::test_a_radial_tether_is_as_light_as_its_ends": 2,
    "tests/constraints/test_orbits.py::test_a_satellite_turns_alike_wherever_its_frame_has_its_origin": 1,
    "tests/constraints/test_orbits.py::test_docked_satellites_turn_alike_however_far_they_are": 1,
    "tests/constraints/test_point_masses.py::test_rolling_given_motions_fields_and_batches_of_parameters_together": 1,
    "tests/constraints/test_records_and_files.py::test_laws_written_in_a_file_hold": 4,
    "tests/constraints/test_states_beside_constraints.py::test_kernels_of_rods_that_are_drawn_flat": 2,
    "tests/constraints/test_states_beside_constraints.py::"
    "test_lifts_that_are_drawn_flat_have_the_rank_of_raised_ones": 1,
    "tests/constraints/test_states_beside_constraints.py::test_ranks_near_change_points_are_those_beside_them": 2,
    "tests/constraints/test_states_beside_constraints.py::test_small_wheels_under_a_long_vehicle_count_as_much": 2,
    "tests/conventions/test_every_joint_mix.py::test_mujoco": 3,
    "tests/conventions/test_every_joint_mix.py::test_pinocchio": 4,
    "tests/cuda/test_warps.py::test_kernels_of_cooperating_warps_compile": 1,
    "tests/cuda/test_cuda_emulated.py::test_emulated_kernels_agree": 3,
    "tests/cuda/test_cuda_emulated.py::test_emulated_pieces_agree": 1,
    "tests/cuda/test_cuda_emulated.py::test_emulated_slices_agree": 1,
    "tests/cuda/test_cuda_export.py::test_it_computes_the_same": 2,
    "tests/cuda/test_cuda_export.py::test_names_of_the_kernel_s_own_are_allowed": 1,
    "tests/cuda/test_cuda_export.py::test_nothing_is_left_unused_where_states_are_single_numbers_or_none": 1,
    "tests/cuda/test_cuda_stages.py::test_stages_give_the_whole": 1,
    "tests/cuda/test_cuda_stepper.py::test_compiles": 1,
    "tests/formats/test_fuzz.py::test_damaged_urdf": 1,
    "tests/formats/test_urdf_pinocchio.py::test_the_same_robot_as_pinocchio": 10,
    "tests/formulations/test_bodies_by_formulas.py::test_textbook_systems_are_what_lagranges_equations_say": 5,
    "tests/formulations/test_every_method_on_every_kind.py::"
    "TestEveryMethod::test_reports_have_no_ugly_numbers_and_no_holes": 5,
    "tests/formulations/test_every_method_on_every_kind.py::"
    "TestEveryMethod::test_substituted_and_compiled_it_gives_the_same_numbers": 6,
    "tests/formulations/test_inverse_everywhere.py::test_symbolic_angles_in_a_closure_may_take_any_value": 1,
    "tests/formulations/test_loads.py::test_which_velocity_a_drive_acts_on_is_told": 4,
    "tests/formulations/test_rigid_body_equations.py::"
    "TestInverseSquareField::test_every_route_carries_it_along_the_links": 2,
    "tests/formulations/test_routes_agree.py::test_thirty_joints_agree_to_1e_10": 2,
    "tests/formulations/test_steps_are_true.py::test_reports_print_the_formula_that_holds": 1,
    "tests/formulations/test_verification.py::test_a_lost_rotor_is_found": 1,
    "tests/formulations/test_verification.py::test_size_is_no_disagreement": 1,
    "tests/formulations/test_ways_of_closing.py::"
    "test_accelerations_are_those_of_the_kernels_with_the_same_reference": 2,
    "tests/formulations/test_ways_of_closing.py::"
    "test_kane_and_kernels_agree_on_the_freedoms_of_textbook_loops_without_being_told": 3,
    "tests/formulations/test_ways_of_closing.py::test_kane_has_as_many_speeds_as_the_working_position_has_freedoms": 3,
    "tests/formulations/test_ways_of_closing.py::test_verification_compares_where_equations_are_meant": 1,
    "tests/formulations/test_ways_of_closing.py::test_verification_fails_with_speeds_of_another_way_of_closing": 1,
    "tests/formulations/test_ways_of_closing.py::test_verification_stays_away_from_crossings_of_ways_of_closing": 1,
    "tests/identification/test_identification.py::test_right_measurements_are_not_doubted": 1,
    "tests/identification/test_identification.py::test_torques_of_wrong_sign_order_or_unit_are_doubted": 1,
    "tests/printing/test_export.py::test_c_compiles_without_warnings_and_agrees": 3,
    "tests/printing/test_printers.py::test_c": 5,
    "tests/printing/test_printers.py::test_cuda_compiles": 1,
    "tests/report/test_report_documents.py::test_a_body_is_told_with_its_gravity_and_all_that_is_cited": 2,
    "tests/report/test_report_documents.py::test_all_routes_count_what_was_asked_for": 4,
    "tests/report/test_report_documents.py::test_html_is_well_formed_and_self_contained": 4,
    "tests/report/test_report_documents.py::test_the_energy_in_a_field_is_told": 1,
    "tests/report/test_report_documents.py::test_the_equations_of_the_document_are_compared_themselves": 4,
    "tests/report/test_report_documents.py::"
    "test_the_route_of_the_document_is_among_those_compared_and_the_others_are_told": 2,
    "tests/report/test_report_names.py::test_letters_of_two_meanings_are_told": 1,
    "tests/simulation/test_changing_redundancy.py::test_redundant_rows_change_no_motion": 4,
    "tests/simulation/test_changing_redundancy.py::test_rules_that_begin_to_contradict_each_other_late_are_told": 2,
    "tests/simulation/test_event_times.py::test_a_stop_holds_however_long_the_steps_are": 4,
    "tests/simulation/test_event_times.py::test_a_swing_touches_its_amplitude_once_per_period": 1,
    "tests/simulation/test_event_times.py::test_passing_for_a_moment_is_two_crossings": 3,
    "tests/simulation/test_event_times.py::test_steps_in_which_nothing_can_happen_are_not_looked_through": 1,
    "tests/simulation/test_event_times.py::test_touches_are_seen_wherever_steps_end": 3,
    "tests/simulation/test_event_times.py::"
    "test_what_is_not_wanted_is_not_told_because_something_else_happens_before": 3,
    "tests/simulation/test_event_times.py::test_what_only_notes_changes_nothing": 3,
    "tests/simulation/test_giving_up.py::test_an_integrator_that_gives_up_recommends_another": 1,
    "tests/simulation/test_giving_up.py::test_dry_friction_at_rest_ends_with_an_error_that_names_it": 2,
    "tests/simulation/test_known_motions.py::test_pendulum_follows_elliptic_functions": 4,
    "tests/simulation/test_known_motions.py::test_top_agrees_with_euler_equations_in_every_parameterisation": 4,
    "tests/simulation/test_open_loops.py::"
    "test_however_loops_are_held_closed_they_end_where_they_cannot_be_and_not_elsewhere": 3,
    "tests/simulation/test_open_loops.py::test_laws_of_users_end_no_motion_by_their_unit": 2,
    "tests/simulation/test_open_loops.py::test_loops_whose_redundant_rows_change_end_as_well": 1,
    "tests/simulation/test_open_loops.py::test_motions_of_a_batch_end_by_their_own_size_not_by_that_of_the_first": 2,
    "tests/simulation/test_rollout.py::test_integrals_are_as_good_as_the_method": 2,
    "tests/simulation/test_rollout.py::test_rollout_equals_simulations": 2,
    "tests/simulation/test_simulate.py::test_power_balance": 2,
    "tests/simulation/test_simulated_loops.py::"
    "test_dead_points_are_touched_once_a_turn_however_much_steps_are_corrected": 1,
    "tests/simulation/test_simulated_loops.py::test_loop_stays_closed_and_keeps_its_energy_for_ten_seconds": 2,
    "tests/simulation/test_simulated_loops.py::test_reactions_know_external_wrenches": 1,
    "tests/simulation/test_singular_positions.py::test_a_held_control_may_change_in_the_middle_of_a_crossing": 3,
    "tests/simulation/test_singular_positions.py::test_a_motion_beside_a_singular_position_turns": 1,
    "tests/simulation/test_singular_positions.py::test_a_reset_in_a_crossing_goes_on_along_the_new_velocity": 8,
    "tests/simulation/test_singular_positions.py::test_adaptive_methods_go_straight_on_where_branches_cross": 1,
    "tests/simulation/test_singular_positions.py::test_counting_turns_at_a_crossing_does_not_disturb_the_motion": 1,
    "tests/simulation/test_singular_positions.py::test_every_adaptive_method_stays_on_the_branch_on_which_it_came": 2,
    "tests/simulation/test_singular_positions.py::test_mechanisms_of_every_size_stay_on_their_branch": 2,
    "tests/simulation/test_singular_positions.py::"
    "test_motions_that_turn_back_close_to_a_singular_position_stay_on_their_branch": 2,
    "tests/simulation/test_singular_positions.py::test_passing_a_singular_position_is_told": 3,
    "tests/simulation/test_singular_positions.py::"
    "test_the_double_four_bar_of_the_benchmark_library_stays_right_for_ten_seconds": 1,
    "tests/simulation/test_singular_positions.py::test_the_velocity_chooses_among_the_branches_of_a_singular_start": 3,
    "tests/simulation/test_steppers.py::test_error_falls_with_the_order_of_the_method": 3,
    "tests/simulation/test_steppers.py::test_long_motions_take_the_same_steps_by_the_compiled_loop": 1,
    "tests/simulation/test_steppers.py::test_quaternions_stay_on_the_unit_sphere": 2,
    "tests/simulation/test_steppers.py::"
    "test_steps_too_long_for_the_variational_method_are_told_by_the_compiled_loop": 1,
    "tests/simulation/test_sweep.py::test_types_and_shapes_come_back_or_are_refused_by_name": 8,
    "tests/simulation/test_ten_seconds.py::test_loops_stay_closed_for_ten_seconds": 2,
    "tests/simulation/test_trajectory.py::test_a_held_control_is_known_between_samples": 5,
    "tests/simulation/test_trajectory.py::test_jumps_between_chosen_times_are_known": 2,
    "tests/test_docs.py::test_blocks_of_a_page_run_and_print_what_is_shown": 5,
    "tests/test_dynamics_facade.py::"
    "test_a_joint_that_moves_nothing_has_accelerations_beyond_all_bounds_and_no_warnings": 6,
    "tests/test_dynamics_facade.py::test_exported_source_says_of_what_it_is_and_in_which_order_inputs_come": 1,
    "tests/test_dynamics_facade.py::test_symbols_of_any_name_stay_apart_from_named_parameters": 2,
    "tests/test_examples.py::test_an_example_that_takes_a_robot_takes_letters_loops_and_floating_ones": 1,
    "tests/test_examples.py::test_example_runs": 2,
    "tests/viewer/test_viewer_page.py::test_a_table_is_interpolated_as_an_archive_is": 1,
}
"""Tests of one law over many robots, methods, sizes or pages -> how many of their cases ``make test`` runs; the others
are as slow together as they are alike."""
