#!/usr/bin/env python3
"""Tests gguf_to_hf.py on small files written here, against plain scalar arithmetic."""
import json
import os
import pathlib
import struct
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gguf_to_hf  # noqa: E402


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(item):
    """A metadata value with its type number."""
    if isinstance(item, str):
        return struct.pack("<I", 8) + string(item)
    if isinstance(item, float):
        return struct.pack("<If", 6, item)
    if isinstance(item, list):
        kind = 8 if isinstance(item[0], str) else 4
        body = b"".join(string(x) if kind == 8 else struct.pack("<I", x) for x in item)
        return struct.pack("<IIQ", 9, kind, len(item)) + body
    return struct.pack("<II", 4, item)


def write_gguf(path, fields, tensors):
    """tensors: name -> float32 array, stored as F32."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    for key, item in fields.items():
        head += string(key) + value(item)
    body = b""
    for name, array in tensors.items():
        head += string(name) + struct.pack("<I", array.ndim)
        head += struct.pack(f"<{array.ndim}Q", *reversed(array.shape))
        head += struct.pack("<IQ", 0, len(body))
        body += array.astype(np.float32).tobytes()
        body += b"\0" * (-len(body) % 32)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + body)


HIDDEN, HEADS, KV_HEADS, HEAD_DIM, VOCAB, MLP = 16, 4, 2, 4, 6, 8
TOKENS = ["<|end|>", "a", "b", "Ġ", "ab", "<|user|>"]


def fields():
    return {
        "general.architecture": "llama", "llama.block_count": 1, "llama.context_length": 64,
        "llama.embedding_length": HIDDEN, "llama.feed_forward_length": MLP,
        "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": KV_HEADS,
        "llama.rope.freq_base": 10000.0, "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS, "tokenizer.ggml.token_type": [3, 1, 1, 1, 1, 4],
        "tokenizer.ggml.merges": ["a b"], "tokenizer.ggml.bos_token_id": 5,
        "tokenizer.ggml.eos_token_id": 0, "tokenizer.chat_template": "{{ messages }}\n",
    }


def tensors(rng):
    shapes = {
        "token_embd.weight": (VOCAB, HIDDEN), "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,), "blk.0.ffn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HEADS * HEAD_DIM, HIDDEN),
        "blk.0.attn_k.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        "blk.0.attn_v.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        "blk.0.attn_output.weight": (HIDDEN, HEADS * HEAD_DIM),
        "blk.0.ffn_gate.weight": (MLP, HIDDEN), "blk.0.ffn_up.weight": (MLP, HIDDEN),
        "blk.0.ffn_down.weight": (HIDDEN, MLP),
    }
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    assert size % 8 == 0
    result = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            bits = np.frombuffer(data[begin:end], np.uint16).astype(np.uint32) << 16
            result[name] = bits.view(np.float32).reshape(entry["shape"])
    return result


class ConvertTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "model.gguf")
        self.out = os.path.join(self.folder.name, "out")
        self.tensors = tensors(np.random.default_rng(7))

    def convert(self, **changes):
        write_gguf(self.path, fields() | changes, self.tensors)
        gguf_to_hf.convert(self.path, self.out)

    def read(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file)

    def test_weights_keep_their_values_and_places(self):
        self.convert()
        weights = read_safetensors(os.path.join(self.out, "model.safetensors"))
        self.assertEqual(len(weights), len(self.tensors))
        # Half a unit in the last of bfloat16's 8 bits.
        np.testing.assert_allclose(weights["model.embed_tokens.weight"],
                                   self.tensors["token_embd.weight"], rtol=2.0**-8)
        np.testing.assert_allclose(weights["model.layers.0.mlp.down_proj.weight"],
                                   self.tensors["blk.0.ffn_down.weight"], rtol=2.0**-8)

    def test_rotary_halves_are_put_side_by_side(self):
        self.convert()
        weights = read_safetensors(os.path.join(self.out, "model.safetensors"))
        for ours, theirs, heads in (("q_proj", "attn_q", HEADS), ("k_proj", "attn_k", KV_HEADS)):
            got = weights[f"model.layers.0.self_attn.{ours}.weight"]
            for head in range(heads):
                for i in range(HEAD_DIM):
                    # Row 2j of a head is its j-th, row 2j + 1 its (j + HEAD_DIM / 2)-th.
                    target = i // 2 + (i % 2) * HEAD_DIM // 2
                    np.testing.assert_allclose(
                        got[head * HEAD_DIM + target],
                        self.tensors[f"blk.0.{theirs}.weight"][head * HEAD_DIM + i], rtol=2.0**-8)

    def test_configuration_and_tokenizer(self):
        self.convert()
        config = self.read("config.json")
        self.assertEqual(config["rms_norm_eps"], 1e-5)
        self.assertEqual(config["num_key_value_heads"], KV_HEADS)
        self.assertTrue(config["tie_word_embeddings"])
        self.assertEqual(self.read("generation_config.json"),
                         {"bos_token_id": 5, "eos_token_id": 0})
        tokenizer = self.read("tokenizer.json")
        self.assertEqual(tokenizer["model"]["vocab"]["ab"], 4)
        self.assertEqual(tokenizer["model"]["merges"], [["a", "b"]])
        self.assertEqual([(t["id"], t["special"]) for t in tokenizer["added_tokens"]],
                         [(0, True), (5, False)])
        self.assertEqual(self.read("tokenizer_config.json")["eos_token"], "<|end|>")

    def test_refuses_what_it_would_have_to_guess(self):
        for changes in ({"general.architecture": "mamba"}, {"tokenizer.ggml.pre": "other"},
                        {"llama.rope.scaling.type": "yarn"}, {"tokenizer.ggml.model": "spm"}):
            with self.assertRaises(gguf_to_hf.Unsupported, msg=str(changes)):
                self.convert(**changes)
            self.assertFalse(os.path.exists(self.out), "half a directory was left behind")
        self.tensors["blk.0.surprise.weight"] = np.zeros((2, 2), np.float32)
        with self.assertRaises(gguf_to_hf.Unsupported):
            self.convert()


class DequantizeTest(unittest.TestCase):
    def test_blocks_against_scalar_arithmetic(self):
        rng = np.random.default_rng(3)
        scale, least = np.float16(0.37), np.float16(-1.25)
        nibbles = rng.integers(0, 16, 32)
        packed = bytes(int(nibbles[i]) | int(nibbles[i + 16]) << 4 for i in range(16))
        signed = rng.integers(-128, 128, 32).astype(np.int8)
        cases = {
            "Q4_0": (scale.tobytes() + packed, [float(scale) * (n - 8) for n in nibbles]),
            "Q4_1": (scale.tobytes() + least.tobytes() + packed,
                     [float(scale) * n + float(least) for n in nibbles]),
            "Q8_0": (scale.tobytes() + signed.tobytes(), [float(scale) * n for n in signed]),
            "F16": (scale.tobytes(), [float(scale)]),
            "BF16": (b"\x80\x3f", [1.0]),
            "F32": (np.float32(0.1).tobytes(), [np.float32(0.1)]),
        }
        for quant, (block, want) in cases.items():
            got = gguf_to_hf.dequantize(quant, np.frombuffer(block, np.uint8).reshape(1, -1))
            np.testing.assert_allclose(got[0], want, rtol=1e-6, err_msg=quant)

    def test_bfloat16_rounds_to_nearest_even(self):
        bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF], np.uint32)
        got = gguf_to_hf.to_bfloat16(bits.view(np.float32))
        self.assertEqual([hex(x) for x in got], ["0x3f80", "0x3f82", "0x3f81", "0x3f80"])


if __name__ == "__main__":
    unittest.main()
