import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.ranges import ranges


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_ranges_by_a_loop(rows):
    starts, counts = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    expected = [number for start, count in rows for number in range(start, start + count)]
    assert ranges(starts, counts).tolist() == expected
    assert ranges(0, counts).tolist() == [number for count in counts for number in range(count)]
