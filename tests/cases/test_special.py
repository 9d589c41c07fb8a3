"""Control tokens, literal added tokens, and text that spells them."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken

from tests import builders
from vocab_audits.census import census
from vocab_audits.pipeline import pipeline
from workbench.adapters import load
from workbench.alignment import Alignment
from workbench.errors import UnreadableFile
from workbench.segmentation import Segmentation

END = "<|end|>"
TYPED = list(b"x<|end|>")

CHERISH = (
    ["<s>", "▁", *"cherisd", "ch", "er", "is", "cher", "cheris", "cherish", "▁cherish", "ed"],
    ["c h", "e r", "i s", "ch er", "cher is", "cheris h", "▁ cherish", "e d"],
)


def template(bos: str, bos_id: int) -> dict:
    """A post-processor that puts a control token before every text."""
    mark, text = {"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [mark, text],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {bos: {"id": bos, "ids": [bos_id], "tokens": [bos]}},
    }


def spans(found: Segmentation) -> list[list[int]]:
    return found.spans("codepoint").tolist()


def steps(tokenizer, stage: str) -> list[tuple[str, str]]:
    return [(step.name, step.detail) for step in tokenizer.pipeline.steps if step.stage == stage]


def reported(tokenizer, measure: str) -> dict:
    return pipeline(tokenizer).table().filter(measure=measure).row(0, named=True)


def test_whitespace_that_a_control_token_swallows_is_not_its_own():
    backend = builders.byte_level(special=[AddedToken("<m>", special=True, lstrip=True)])
    found = load(backend).segment_control("a <m>b")
    assert found.ids.tolist() == [97, 256, 98]
    assert spans(found) == [[0, 1], [2, 5], [5, 6]]
    assert found.absorbed.tolist() == [[1, 2]]
    assert not len(found.uncovered)


def test_whitespace_swallowed_on_both_sides_by_neighbours():
    token = AddedToken("<m>", special=True, lstrip=True, rstrip=True)
    found = load(builders.byte_level(special=[token])).segment_control("a  <m>\n<m> b")
    assert found.ids.tolist() == [97, 256, 256, 98]
    assert found.pieces == [b"a", b"<m>", b"<m>", b"b"]
    assert found.absorbed.tolist() == [[1, 3], [6, 7], [10, 11]]


def test_a_literal_added_token_cuts_into_words_and_is_listed():
    tokenizer = load(builders.byte_level(added=["ham"]))
    assert tokenizer.segment("Graham").pieces == [b"G", b"r", b"a", b"ham"]
    assert steps(tokenizer, "added token") == [("ham", "not special, normalized")]
    assert census(tokenizer.inventory).tables["census"].row(256, named=True)["category"] == "added"


@pytest.mark.parametrize(("single_word", "value"), [(False, 1.0), (True, 0.0)])
def test_added_tokens_that_match_inside_words_are_reported(single_word, value):
    tokenizer = load(builders.byte_level(added=[AddedToken("ham", single_word=single_word), "<x>"]))
    row = reported(tokenizer, "added_matches_in_words")
    assert row["value"] == value
    assert row["evidence"] == (None if single_word else "256 'ham'")


def test_a_literal_added_token_for_single_words_leaves_others_alone():
    tokenizer = load(builders.byte_level(added=[AddedToken("ham", single_word=True)]))
    assert len(tokenizer.segment("Graham")) == 6
    assert tokenizer.segment("ham").ids.tolist() == [256]


def test_adding_twice_or_what_exists_changes_no_count():
    backend = builders.bpe(["a", "b"])
    backend.add_tokens(["x", "x", "a"])
    inventory = load(backend).inventory
    assert len(inventory) == inventory.rows_needed == 3
    assert [inventory.entry(token).bytes for token in range(3)] == [b"a", b"b", b"x"]
    assert [inventory.entry(token).kind for token in range(3)] == ["added", "piece", "added"]


@pytest.mark.parametrize(
    ("backend", "control"),
    [(builders.byte_level(special=[END]), 256), (builders.encoding(special={END: 300}), 300)],
    ids=["tokenizers", "tiktoken"],
)
def test_typed_control_text_is_data_unless_asked_for(backend, control):
    tokenizer = load(backend)
    assert tokenizer.encode("x" + END) == TYPED
    assert tokenizer.segment("x" + END).exact
    assert tokenizer.encode_control("x" + END) == [120, control]
    assert tokenizer.segment_control("x" + END).pieces == [b"x", END.encode()]
    assert tokenizer.encode("x" + END) == TYPED, "asking once must not change the next answer"
    assert tokenizer.inventory.entry(control).kind == "special"
    row = reported(tokenizer, "special_text_is_control")
    assert (row["value"], row["severity"], row["evidence"]) == (1.0, "info", f"{control} '{END}'")


def test_reading_an_object_leaves_it_as_it_was():
    padding = {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "a",
    }
    backend = builders.with_added(builders.bpe(["a", "b"], padding=padding), special=[END])
    before = (backend.to_str(), backend.encode(END).ids)
    load(backend).segment("ab" + END)
    assert (backend.to_str(), backend.encode(END).ids) == before
    assert before[1] == [2]


def test_an_object_with_parts_in_python_is_refused_by_sentence():
    from tokenizers import pre_tokenizers

    class Whole:
        def pre_tokenize(self, text):
            text.split(lambda _, part: [part])

    backend = builders.byte_level()
    backend.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Whole())
    with pytest.raises(UnreadableFile, match="the library's own parts"):
        load(backend)


def test_a_begin_token_hides_no_morph_boundary():
    backend = builders.metaspace(*CHERISH, special=["<s>"], post_processor=template("<s>", 0))
    assert backend.encode("cherished").tokens == ["<s>", "▁cherish", "ed"]
    found = load(backend).segment("cherished")
    gold = Segmentation.from_cuts(b"cherished", [0, 7, 9])
    assert found.ids.tolist() == [15, 16]
    assert Alignment(gold, found).scores == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("post", [template("<s>", 256), None], ids=["template", "none"])
def test_segmenting_neither_adds_nor_drops_a_begin_token(post):
    backend = builders.with_added(builders.byte_level(), special=["<s>"])
    if post:
        from tokenizers import processors

        backend.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 256)])
    tokenizer = load(backend)
    assert tokenizer.encode("ab") == [97, 98]
    assert tokenizer.encode_control("<s>ab") == [256, 97, 98]
    assert bool(steps(tokenizer, "post-processor")) is (post is not None)


def test_id_0_is_an_id():
    tokenizer = load(builders.word_level(["[PAD]", "a"], "[PAD]"))
    assert tokenizer.unknown == {0}
    assert tokenizer.segment("a b").unknown == (1,)


@pytest.mark.parametrize(
    ("scheme", "ids", "synthetic"), [("always", [0, 3], (1,)), ("first", [0, 2], ()), ("never", [0, 2], ())]
)
def test_the_prepend_scheme_decides_what_follows_a_control_token(scheme, ids, synthetic):
    backend = builders.metaspace(["<s>", "▁", "G", "▁G"], ["▁ G"], scheme=scheme, special=["<s>"])
    tokenizer = load(backend)
    found = tokenizer.segment_control("<s>G")
    assert found.ids.tolist() == ids
    assert found.synthetic == synthetic
    assert spans(found) == [[0, 3], [3, 4]]
    ((name, detail),) = steps(tokenizer, "pre-tokenizer")
    assert name == "Metaspace"
    assert f'"prepend_scheme": "{scheme}"' in detail


def test_text_that_spells_the_unknown_token_is_unknown_text():
    found = load(builders.unigram({"a": -1.0})).segment("<unk>")
    assert found.ids.tolist() == [0]
    assert found.unknown == (0,)
    assert not found.exact


@pytest.mark.parametrize("normalised", [True, False])
def test_literal_tokens_are_found_where_a_normaliser_changes_their_text(normalised):
    token = AddedToken("HaM", normalized=normalised)
    tokenizer = load(builders.byte_level(normalizer={"type": "Lowercase"}, added=[token]))
    found = tokenizer.segment("GraHaM!")
    assert found.ids.tolist() == [103, 114, 97, 256, 33]
    assert spans(found) == [[0, 1], [1, 2], [2, 3], [3, 6], [6, 7]]
    assert found.unknown == ()


def test_control_tokens_are_found_beside_unknown_text_under_a_normaliser():
    backend = builders.with_added(builders.wordpiece(["hi", "mask", "[MASK]"]), special=["[UNK]", "[MASK]"])
    tokenizer = load(backend)
    text = "[mask] [MASK]\u2603 Hi[MASK]"
    found = tokenizer.segment_control(text)
    assert found.ids.tolist() == [0, 2, 0, 3, 0, 1, 3]
    assert spans(found) == [[0, 1], [1, 5], [5, 6], [7, 13], [13, 14], [15, 17], [17, 23]]
    assert found.unknown == (0, 2, 4)
    assert tokenizer.segment(text).ids.tolist() == [0, 2, 0, 0, 2, 0, 0, 1, 0, 2, 0]


def test_unknown_text_of_a_sentencepiece_model_beside_its_control_text():
    import sentencepiece

    model = builders.sentencepiece_model(["ab ba aab"] * 10, 10)
    tokenizer = load(sentencepiece.SentencePieceProcessor(model_proto=model))
    found = tokenizer.segment_control("a<s>\u2603</s>b")
    (unknown,) = found.unknown
    assert spans(found)[unknown] == [4, 5]
    assert [found.pieces[index] for index in (unknown - 2, unknown + 1)] == [b"<s>", b"</s>"]


@pytest.mark.parametrize("listed", [True, False])
def test_a_model_that_makes_control_tokens_of_data_is_noted(listed):
    pieces = {"<": -2.0, "s": -2.0, ">": -2.0, **({"<s>": -1.0} if listed else {})}
    tokenizer = load(builders.with_added(builders.unigram(pieces), special=["<s>"]))
    control = tokenizer.inventory.find(b"<s>")
    assert (tokenizer.encode("<s>") == control) is listed
    assert any("1 of 1 control tokens, such as <s>" in note for note in tokenizer.pipeline.notes) is listed
