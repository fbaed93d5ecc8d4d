"""Sparse parity with and without a chain of thought, learned by a one-layer simplified transformer.

A sequence holds n uniform bits, an end-of-sequence bit 0 at n+1 and, with a chain of thought, the running parities
b[i+1] = b[i] ⊕ b[S[i]] of k secret bits. A frozen embedding, one attention matrix A and one ReLU layer W predict
the next bit; everything the loss sees of the weights are inner products with the 2(n+k) token vectors.

| paper | code | meaning | shape |
|---|---|---|---|
| n, k | `n`, `k` | input bits, secret bits | |
| S[n+1..n+k] | `secrets` | input position that query position i must read | k |
| b | `sequences` | bits with their labels | sequences × positions+1 |
| e_{j,b} | `embeddings` | frozen token vectors, token 2(j-1)+b | T × d |
| G | `Metric.keys`, `.queries` | Gram matrix of the tokens (identity when orthonormal) | T × T, 2k × 2k |
| W, A, h | `Weights.W`, `.A`, `h` | neurons, attention, frozen output weights ±1/2m | 2m × 2d, d × d, 2m |
| ν, ε | `signs`, `epsilon` | initial signs of the neurons and their scale | 2m × 2k |
| p, q, a | `Coordinates` | ⟨W_{1:d}, e_query⟩, ⟨W_{d+1:2d}, e_key⟩, e_keyᵀ A e_query | 2m × 2k, 2m × T, T × 2k |
| Γ | `overlaps` | overlap of the neurons active on two query tokens | 2k × 2k |
| P, K | `FrozenCoordinates` | output of the active neurons, with frozen gates (the paper's Δ is -K) | 2k, 2k × T |
| g, u, v, w | `g`, `u`, `v`, `w` | signal; scores of the target, an ordinary, a sure token | |
| s | `s_target` | attention on S[i] | |
| η_0, η_1, η_2 | `Rates` | learning rates of the three steps | |
| Ent | `attention_entropy` | normalised attention entropy, Eq. (1) | |
"""
