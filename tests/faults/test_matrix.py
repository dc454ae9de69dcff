"""The fault matrix: for each fault, the tests that really inject it.

Every row names tests by node id; this module checks that they exist, so that a test which is
renamed or removed leaves no row behind that nothing stands for.
"""

import ast
from importlib import import_module
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]

MATRIX: dict[str, tuple[str, ...]] = {
    "driver killed": (
        "faults/test_soak.py::test_a_driver_killed_at_random_ends_as_the_uninterrupted_one",
        "faults/test_soak.py::test_a_driver_killed_with_its_workers_ends_as_the_uninterrupted_one",
        "tuning/test_driver.py::test_a_kill_at_any_write_ends_like_the_uninterrupted_run",
        "tuning/test_driver.py::test_a_kill_with_several_workers_keeps_the_invariants",
        "checkpoints/test_kills.py::test_a_kill_at_any_moment_loses_nothing_that_was_logged",
        "storage/test_files.py::test_every_acknowledged_event_survives_a_kill",
        "storage/test_files.py::test_a_kill_while_creating_leaves_no_study",
        "executors/test_driver_death.py::test_nothing_survives_the_driver",
    ),
    "worker killed mid-unit": (
        "faults/test_processes.py::test_a_killed_worker_costs_its_unit_and_harms_nobody",
        "executors/test_local_faults.py::test_a_worker_killed_from_outside_is_noticed_at_once",
        "tuning/test_driver.py::test_a_failed_unit_is_tried_again_from_its_checkpoint_then_given_up",
    ),
    "Ctrl-C once / twice": (
        "faults/test_processes.py::test_ctrl_c_in_a_terminal_reaches_all_and_is_resumable",
        "tuning/test_driver.py::test_ctrl_c_once_finishes_what_runs",
        "tuning/test_driver.py::test_ctrl_c_twice_stops_now_and_is_resumable",
    ),
    "disk full": (
        "faults/test_full_disk.py::test_files_that_may_not_grow_pause_the_study",
        "faults/test_full_disk.py::test_a_full_disk_pauses_the_study",
        "checkpoints/test_kills.py::test_a_full_disk_keeps_the_old_checkpoint",
        "storage/test_files.py::test_a_full_disk_is_named_and_the_store_stays_intact",
        "tuning/test_driver.py::test_a_full_disk_pauses_and_the_unit_runs_on_resume",
    ),
    "damaged checkpoint": (
        "tuning/test_driver.py::test_damaged_checkpoints_are_never_loaded",
        "tuning/test_driver.py::test_a_removed_checkpoint_is_noticed",
        "checkpoints/test_store.py::test_a_damaged_checkpoint_is_passed_over",
        "checkpoints/test_store.py::test_a_consistent_forgery_is_still_not_the_one_in_the_log",
    ),
    "damaged store": (
        "storage/test_files.py::test_a_cut_file_is_refused_and_left_as_it_is",
        "storage/test_files.py::test_flipped_bytes_never_go_unnoticed",
        "storage/test_files.py::test_foreign_and_empty_files_are_refused_and_kept",
        "storage/test_files.py::test_another_programs_database_is_refused_and_kept",
    ),
    "clock jump": (
        "tuning/test_tune.py::test_a_jump_of_the_clock_moves_no_deadline",
        "study/test_study.py::test_downtime_does_not_count_and_the_clock_never_goes_back",
    ),
    "NaN or infinite loss, diverging": (
        "faults/test_diverging.py::test_the_belief_takes_a_diverging_arm_for_a_bad_one",
        "tuning/test_driver.py::test_a_diverging_arm_is_charged_and_never_the_best",
        "study/test_study.py::test_losses_that_are_not_numbers_are_kept_and_never_the_best",
    ),
    "hung trainer": (
        "faults/test_processes.py::test_a_trainer_that_hangs_does_not_move_the_deadline",
        "faults/test_processes.py::test_a_trainer_that_hangs_is_given_up_after_its_limit",
        "executors/test_local_faults.py::test_whatever_hangs_is_killed_after_its_limit",
        "tuning/test_driver.py::test_a_limit_is_learned_from_the_others",
    ),
    "duplicate or late report": (
        "study/test_study.py::test_the_same_report_again_is_ignored_and_a_different_one_rejected",
        "study/test_study.py::test_a_report_after_a_failure_is_rejected",
    ),
    "two drivers on one study": (
        "storage/test_contract.py::TestStore::test_a_second_driver_is_told_who_holds_the_study",
        "storage/test_contract.py::TestStore::test_a_stale_holder_is_fenced_out",
        "tuning/test_tune.py::test_killed_interrupted_and_contested_it_ends_like_the_uninterrupted_run",
    ),
    "hostile names, paths, HTML in configuration values": (
        "faults/test_hostile.py::test_hostile_values_are_only_values",
        "faults/test_hostile.py::test_names_that_no_file_can_have_are_refused",
        "faults/test_hostile.py::test_a_study_folder_that_is_a_link_is_not_followed",
        "checkpoints/test_store.py::test_links_and_special_files_are_refused",
        "checkpoints/test_store.py::test_a_manifest_that_leads_outside_is_refused",
    ),
    "very many arms": (
        "faults/test_many_arms.py::test_a_hundred_thousand_arms_fit_into_a_gigabyte",
    ),
    "store locked for 60 s": (
        "tuning/test_tune.py::test_a_store_that_is_locked_for_a_while_loses_nothing",
        "tuning/test_driver.py::test_a_locked_store_loses_nothing_and_nothing_runs_unlogged",
        "storage/test_files.py::test_a_locked_store_loses_nothing",
    ),
    "trainer that dies at import": (
        "executors/test_local_start.py::test_a_trainer_that_cannot_be_used_is_one_clear_line",
        "executors/test_local_start.py::test_what_was_printed_before_the_end_is_a_note",
        "tuning/test_tune.py::test_a_trainer_that_never_works_shows_what_it_said",
    ),
    "study copied without its write-ahead log; log file damaged or cut": (
        "faults/test_copies.py::test_acknowledged_events_reach_the_main_file_soon",
        "faults/test_copies.py::test_a_start_brings_everything_to_the_main_file",
        "faults/test_copies.py::test_a_study_behind_its_folder_is_refused_and_nothing_is_lost",
        "faults/test_copies.py::test_a_cut_write_ahead_log_is_refused_and_left_as_it_is",
        "faults/test_copies.py::test_an_archive_of_a_running_study_can_be_resumed",
    ),
    "folder of another study, or another route to the same": (
        "faults/test_copies.py::test_names_on_servers_share_no_folder",
        "faults/test_copies.py::test_a_folder_of_another_study_is_refused_and_kept",
        "faults/test_copies.py::test_an_orphaned_folder_is_not_wiped_by_a_new_study",
        "faults/test_copies.py::test_all_checkpoints_missing_means_the_wrong_place",
        "faults/test_copies.py::test_a_link_to_a_study_leads_to_its_checkpoints",
        "faults/test_copies.py::test_a_folder_of_before_without_a_mark_is_still_found",
    ),
    "driver stopped, not dead": (
        "faults/test_limits.py::test_limits_hold_though_the_driver_is_stopped",
        "faults/test_limits.py::test_a_guard_that_was_killed_is_told_again",
    ),
    "slow start": (
        "faults/test_limits.py::test_an_import_longer_than_the_deadline_ends_with_it",
        "faults/test_limits.py::test_the_start_of_workers_is_charged",
        "faults/test_limits.py::test_the_grace_is_inside_the_deadline",
        "faults/test_limits.py::test_a_stop_at_the_deadline_kills_no_later_than_it",
    ),
    "database restarted": (
        "faults/test_restarts.py::test_a_restarted_server_is_found_again",
        "faults/test_restarts.py::test_a_server_that_stays_away_pauses_the_study",
    ),
    "best model damaged after it was kept": (
        "faults/test_best_model.py::test_damage_to_one_copy_leaves_the_other",
        "faults/test_best_model.py::test_the_kept_best_shares_no_file_with_a_checkpoint",
        "faults/test_best_model.py::test_a_lost_best_model_is_said_and_is_a_failure",
        "faults/test_best_model.py::test_a_trainer_that_keeps_writing_loses_nothing_else",
    ),
    "somebody else's study": (
        "faults/test_strangers.py::test_a_strangers_trainer_does_not_run_unasked",
        "faults/test_strangers.py::test_no_control_character_reaches_a_terminal",
        "faults/test_strangers.py::test_no_formula_reaches_a_spreadsheet",
    ),
    "numbers that break the algebra": (
        "policies/test_nasty_curves.py::test_no_table_makes_a_policy_fail",
        "policies/test_nasty_curves.py::test_a_decay_that_has_not_begun_at_the_last_epoch_is_factorised",
    ),
    "session ended by an exception, the next one in the same process": (
        "checkpoints/test_store.py::test_a_removal_may_find_that_another_session_of_this_process_was_faster",
        "checkpoints/test_store.py::test_a_checkpoint_that_goes_while_the_folder_is_listed_is_not_there",
    ),
    "disk use": (
        "tuning/test_driver.py::test_the_cap_on_checkpoints_is_kept",
        "checkpoints/test_drops.py::test_the_least_likely_goes_first_and_no_more_than_needed",
        "checkpoints/test_drops.py::test_what_is_left_fits_or_is_protected",
    ),
}


@pytest.mark.parametrize("fault", MATRIX)
def test_every_fault_is_injected_by_tests_that_exist(fault: str) -> None:
    for node in MATRIX[fault]:
        file, _, name = node.partition("::")
        assert name.split("::")[-1] in _tests_of(file, name), node


def _tests_of(file: str, name: str) -> set[str]:
    """Names of the tests of a file, or of the class in it that the name begins with."""
    if "::" in name:
        module = import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")
        return set(dir(vars(module)[name.split("::")[0]]))
    tree = ast.parse((_TESTS / file).read_text())
    return {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
