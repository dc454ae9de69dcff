"""What every place for checkpoints promises: what is committed is whole, or not there at all."""

import pytest

from bhpt.checkpoints import (
    CheckpointPlace,
    CheckpointStore,
    Draft,
    Generation,
    UnsafeCheckpoint,
)


class CheckpointPlaceContract:
    """Tests of a `CheckpointPlace`. Override the fixture `place`."""

    @pytest.fixture
    def place(self) -> CheckpointPlace:
        """A new, empty place for each test."""
        raise NotImplementedError("override the fixture `place`")

    def test_a_new_place_is_empty(self, place: CheckpointPlace) -> None:
        """And it can be asked again."""
        assert place.contents() == frozenset()
        assert place.contents() == frozenset()

    def test_what_is_committed_can_be_fetched(self, place: CheckpointPlace) -> None:
        """With and without a check of every byte."""
        place.contents()
        write_draft(place, Draft(3, 7))
        seal = place.commit(Draft(3, 7), Generation(3, 1))
        assert seal.bytes == len("weights")
        for digest in (None, seal.digest):
            files = place.fetch(Generation(3, 1), digest)
            assert (files.name, (files / "inside" / "net").read_text()) == ("files", "weights")
        assert place.contents() == {Generation(3, 1)}

    def test_a_wrong_digest_and_a_missing_generation_are_found_out(
        self, place: CheckpointPlace
    ) -> None:
        """What cannot be what the study's log says is never handed out."""
        place.contents()
        write_draft(place, Draft(0, 0))
        place.commit(Draft(0, 0), Generation(0, 1))
        with pytest.raises(ValueError, match="not the one in the study's log"):
            place.fetch(Generation(0, 1), "0" * 64)
        with pytest.raises((ValueError, OSError)):
            place.fetch(Generation(0, 2), "0" * 64)

    def test_a_draft_counts_for_nothing(self, place: CheckpointPlace) -> None:
        """It can be removed twice, and begun again."""
        place.contents()
        write_draft(place, Draft(0, 0), "first")
        write_draft(place, Draft(1, 1))
        place.remove(Draft(1, 1))
        place.remove(Draft(1, 1))
        assert place.contents() == frozenset()
        assert not any(place.begin(Draft(0, 0)).iterdir())

    def test_a_link_is_not_committed(self, place: CheckpointPlace) -> None:
        """It would lead out of the checkpoint."""
        place.contents()
        (place.begin(Draft(0, 0)) / "link").symlink_to("/etc/passwd")
        with pytest.raises(UnsafeCheckpoint):
            place.commit(Draft(0, 0), Generation(0, 1))
        assert place.contents() == frozenset()

    def test_removing_removes_only_that(self, place: CheckpointPlace) -> None:
        """And may be repeated."""
        place.contents()
        for number in (1, 2):
            write_draft(place, Draft(5, number), str(number))
            place.commit(Draft(5, number), Generation(5, number))
        place.remove(Generation(5, 1))
        place.remove(Generation(5, 1))
        assert place.contents() == {Generation(5, 2)}
        assert (place.fetch(Generation(5, 2)) / "inside" / "net").read_text() == "2"

    def test_what_is_erased_is_gone(self, place: CheckpointPlace) -> None:
        """A study that is removed leaves nothing."""
        place.contents()
        write_draft(place, Draft(0, 0))
        write_draft(place, Draft(1, 1))
        place.commit(Draft(0, 0), Generation(0, 1))
        place.erase()
        assert place.contents() == frozenset()

    def test_a_store_keeps_its_record_over_the_place(self, place: CheckpointPlace) -> None:
        """Two generations of an arm are kept; what the log does not have is removed on opening."""
        store = CheckpointStore(place)
        made = []
        for attempt in range(4):
            write_draft(place, Draft(1, attempt), str(attempt))
            made.append(store.commit(1, attempt, epochs=attempt + 1))
            store.settled(made[-1])
        store.finish()
        assert place.contents() == {Generation(1, 3), Generation(1, 4)}
        again = CheckpointStore(place, made[:3])
        assert again.held == (made[2],)
        thawed = again.thaw(1)
        assert thawed.folder is not None
        assert (thawed.folder / "inside" / "net").read_text() == "2"
        assert place.contents() == {Generation(1, 3)}


def write_draft(place: CheckpointPlace, draft: Draft, text: str = "weights") -> None:
    """Write a small checkpoint as a trainer does."""
    folder = place.begin(draft)
    (folder / "inside").mkdir()
    (folder / "inside" / "net").write_text(text)
