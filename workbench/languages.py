"""Language codes, and which languages put spaces between words."""

from __future__ import annotations

import re

_PAIRS = """
aa aar ab abk ae ave af afr ak aka am amh an arg ar ara as asm av ava ay aym az aze ba bak be bel bg bul
bi bis bm bam bn ben bo bod br bre bs bos ca cat ce che ch cha co cos cr cre cs ces cu chu cv chv cy cym
da dan de deu dv div dz dzo ee ewe el ell en eng eo epo es spa et est eu eus fa fas ff ful fi fin fj fij
fo fao fr fra fy fry ga gle gd gla gl glg gn grn gu guj gv glv ha hau he heb hi hin ho hmo hr hrv ht hat
hu hun hy hye hz her ia ina id ind ie ile ig ibo ii iii ik ipk io ido is isl it ita iu iku ja jpn jv jav
ka kat kg kon ki kik kj kua kk kaz kl kal km khm kn kan ko kor kr kau ks kas ku kur kv kom kw cor ky kir
la lat lb ltz lg lug li lim ln lin lo lao lt lit lu lub lv lav mg mlg mh mah mi mri mk mkd ml mal mn mon
mr mar ms msa mt mlt my mya na nau nb nob nd nde ne nep ng ndo nl nld nn nno no nor nr nbl nv nav ny nya
oc oci oj oji om orm or ori os oss pa pan pi pli pl pol ps pus pt por qu que rm roh rn run ro ron ru rus
rw kin sa san sc srd sd snd se sme sg sag si sin sk slk sl slv sm smo sn sna so som sq sqi sr srp ss ssw
st sot su sun sv swe sw swa ta tam te tel tg tgk th tha ti tir tk tuk tl tgl tn tsn to ton tr tur ts tso
tt tat tw twi ty tah ug uig uk ukr ur urd uz uzb ve ven vi vie vo vol wa wln wo wol xh xho yi yid yo yor
za zha zh zho zu zul
"""  # ISO 639-1 codes, each with its ISO 639-3 equivalent

_OTHERS = """
ace acm acq aeb ajp als apc arb ars ary arz ast awa ayr azb azj ban bem bho bjn bug cdo ceb cjk cjy ckb
cmn crh dik dsb dyu ekk fil fon fur fuv gan gaz grc gsw hak hne hsb hsn ilo kab kac kam kbp kea khk kmb
kmr knc ksh lij lld lmo ltg lua luo lus lvs lzh mag mai mhr min mni mnw mos mul nan nap nds npi nso nus
ory pag pap pbt pcm pes plt prs quy rue sah sat scn sco shn smn sms srn swh szl taq tpi tum tyv tzm udm
umb und uzn vec vro war wuu xmf ydd yue zgh zsm zxx
"""  # ISO 639-3 codes without a two-letter one that multilingual test sets use, and the special codes

TWO_TO_THREE = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
"""Each ISO 639-1 code with its ISO 639-3 equivalent."""

CODES = frozenset([*_PAIRS.split(), *_OTHERS.split(), "xx"])
"""Primary language subtags that a file's name may carry; ``xx`` is spaCy's code for several languages."""

_UNSPACED_LANGUAGES = """
bo bod cdo cjy cmn dz dzo gan hak hsn ja jpn km khm lo lao lzh mnw my mya nan shn th tha wuu yue zh zho
"""

_UNSPACED_SCRIPTS = """
Hani Hans Hant Hira Hrkt Jpan Kana Khmr Lana Laoo Mymr Tale Talu Tavt Thai Tibt
"""

UNSPACED_LANGUAGES = frozenset(_UNSPACED_LANGUAGES.split())
"""Languages whose usual script runs words together, or marks syllables only, as Tibetan does."""

UNSPACED_SCRIPTS = frozenset(_UNSPACED_SCRIPTS.split())
"""ISO 15924 codes of the scripts that are written without spaces between words."""

UNKNOWN = "und"
"""ISO 639's code for a language that is not known."""

_TAG = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)


def language_of(stem: str) -> str | None:
    """The stem of a file's name if it is a language tag: ``de``, ``deu``, ``pt-BR``, ``zho_Hans``.

    Returns:
        The stem as it stands, or None.
    """
    match = _TAG.fullmatch(stem)
    return stem if match and match[1].lower() in CODES else None


def has_word_spaces(language: str | None) -> bool:
    """Whether text in a language puts spaces between its words.

    Where it does not, tokens per word (fertility) is not applicable: a whitespace-delimited run is a
    phrase or a sentence there. A script subtag decides over the language: ``ja-Latn`` has spaces.

    Args:
        language: a tag such as ``th``, ``tha`` or ``tha_Thai``; an unknown one is taken to have spaces.
    """
    match = _TAG.fullmatch(language or "")
    if not match:
        return True
    if match[2]:
        return match[2].title() not in UNSPACED_SCRIPTS
    return match[1].lower() not in UNSPACED_LANGUAGES
