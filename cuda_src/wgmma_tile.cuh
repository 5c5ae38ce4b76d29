// Products on Hopper's tensor cores (contracts MMA_F32 and TF32): a thread of a warp group of its own lets the copy
// engine fill stages, from which the other warp groups multiply. Thread blocks stay for one tile after another, so that
// the stages of the next are filled while the last is stored.
#pragma once
#include "cluster.cuh"
#include "hand_over.cuh"
#include "operand_panels.cuh"
#include "register_operand.cuh"
#include "row_store.cuh"
#include "stage_turn.cuh"
#include "tile_position.cuh"
#include "wgmma.cuh"

namespace mgemm_kernel {

// How the GROUPS warp groups that compute share the work: each has BM / GROUPS rows of every tile, or they take turns
// ("ping-pong"), and one multiplies its tile while the other stores its own; or each has rows of one slice of a tile,
// the only one of this block, and the other slices are computed by the other blocks of the cluster.
enum Schedule { COOPERATIVE = 0, PING_PONG = 1, SLICES = 2 };

// A is the operand of the tensor cores' rows and B that of their columns: a and b, but of TF32's forward product the
// other way round (register_operand.cuh).
//
// CLUSTER thread blocks have tiles below each other: each loads a part of b for all of them. With SLICES a cluster has
// as many blocks as there are slices instead. OUT is the output's type.
template <int OP, int TYPE, int OUT, int BM, int BN, int STAGES, int GROUPS, int CLUSTER, int SCHEDULE>
struct WgmmaTile {
  static constexpr bool kSliced = SCHEDULE == SLICES;
  static constexpr bool kTurns = SCHEDULE == PING_PONG;
  static constexpr bool kSwapped = TYPE == TF32 && OP == NN;
  static constexpr int kSize = TYPE == TF32 ? 4 : 2;
  static constexpr int kGroup = 32 / kSize;   // steps of one product
  static constexpr int kSteps = 128 / kSize;  // of a stage
  static constexpr int kRows = kSwapped ? BN : BM;
  static constexpr int kColumns = kSwapped ? BM : BN;
  static constexpr int kPartRows = kTurns ? kRows : kRows / GROUPS;  // of a tile, for a warp group
  static constexpr int kRowBlocks = kPartRows / 64;
  static constexpr int kComputing = 128 * GROUPS;
  static constexpr int kThreads = kComputing + 128;
  static constexpr bool kAlongA = OP != TN && !kSwapped;
  static constexpr bool kAlongB = OP == NT || kSwapped;
  using A = OperandPanels<kSize, kRows, kSteps, kAlongA>;
  // Short lines are slow: where a width is no multiple of the longest, the last columns are an operand of their own.
  static constexpr int kLongColumns = kAlongB ? kColumns : columns_in_long_lines(kColumns);
  static constexpr int kRestColumns = kColumns - kLongColumns;
  static constexpr bool kHasRest = kRestColumns != 0;
  using B = OperandPanels<kSize, kLongColumns, kSteps, kAlongB>;
  using Rest = OperandPanels<kSize, kHasRest ? kRestColumns : 16, kSteps, false>;
  using Sums = float[kRowBlocks][kColumns / 2];
  using Turn = StageTurn<STAGES>;
  using Store = RowStore<OUT, BN, kRowBlocks * BN / 2>;
  static_assert(kRows % (64 * (kTurns ? 1 : GROUPS)) == 0 && kColumns % 16 == 0 && kColumns <= 256, "whole products");
  static_assert(A::kLineBytes == 128 && (!kSliced || CLUSTER == 1) && (!kTurns || GROUPS == 2) &&
                    (!kSliced || OUT == F32) && (!kSwapped || CLUSTER == 1) && (TYPE != TF32 || OP != TN),
                "what is supported");

  // Shared memory: stages, in the end of slices sums; without slices, a place for each warp to store by; two barriers a
  // stage; and one for each group to wait for its turn, or for the stages to be left. What is permuted begins at
  // multiples of kBase.
  static constexpr int kBase = 1024;
  static constexpr int kRest = A::kBytes + B::kBytes;  // where it begins in a stage
  static constexpr int kStageBytes = kRest + (kHasRest ? Rest::kBytes : 0);
  static constexpr int kStagesBytes = STAGES * kStageBytes;
  static constexpr int kSumLineBytes = 4 * BN + 32;  // so that a warp's rows lie in different banks
  static constexpr int kSumBytes = kSliced ? BM * kSumLineBytes : 0;
  static constexpr int kStores = kStagesBytes > kSumBytes ? kStagesBytes : kSumBytes;
  static constexpr int kBarriers = kStores + (kSliced ? 0 : kComputing / 32 * Store::kBytes);
  static constexpr int kTurnBarriers = kBarriers + 16 * STAGES;
  static constexpr int kSharedBytes = kTurnBarriers + 16 + kBase;
  static_assert(A::kBytes % kBase == 0 && kStageBytes % kBase == 0, "aligned");

  // Registers a thread: as few as copying takes, and as many as that leaves.
  static constexpr int kCopyRegisters = GROUPS == 2 ? 40 : 32;
  static constexpr int kComputeRegisters = GROUPS == 2 ? 232 : 160;

  // The steps that this block multiplies.
  struct Range {
    int first, last;
    __device__ __forceinline__ explicit Range(const GemmParams& p) : first(0), last(static_cast<int>(p.reduction)) {
      if constexpr (kSliced) {
        const long long from = cluster_rank() * p.slice_length;
        first = static_cast<int>(from);
        if (from + p.slice_length < p.reduction) last = static_cast<int>(from + p.slice_length);
      }
    }
  };

  // Walks through this block's tiles, in the order in which all blocks do.
  struct Walk {
    unsigned tile, count, stride, rank;

    __device__ __forceinline__ explicit Walk(const GemmParams& p) {
      const unsigned size = kSliced ? cluster_size() : CLUSTER;
      rank = CLUSTER > 1 ? cluster_rank() : 0;
      tile = blockIdx.x / size;
      stride = gridDim.x / size;
      count = static_cast<unsigned>((p.rows + CLUSTER * BM - 1) / (CLUSTER * BM) * ((p.columns + BN - 1) / BN));
    }
    __device__ __forceinline__ bool exists() const { return tile < count; }
    __device__ __forceinline__ void advance(unsigned tiles = 1) { tile += tiles * stride; }
    __device__ __forceinline__ TilePosition position(const GemmParams& p) const {
      TilePosition at = tile_position<CLUSTER * BM, BN>(p, tile);
      at.row += rank * BM;
      return at;
    }
  };

  // By one thread.
  __device__ static __forceinline__ void copy(const TensorParams& params, unsigned shared) {
    const Range range(params.gemm);
    Turn turn{shared + kBarriers};
    for (Walk walk(params.gemm); walk.exists(); walk.advance()) {
      const TilePosition at = walk.position(params.gemm);
      const int row = static_cast<int>(at.row);
      const int column = static_cast<int>(at.column);
#pragma unroll 1
      for (int left = range.last - range.first; left > 0; left -= kSteps) {
        const int step = range.last - left;
        const unsigned stage = shared + turn.stage * kStageBytes;
        barrier_wait(turn.left(), turn.parity ^ 1);  // at once the first time round
        barrier_expect(turn.arrived(), kStageBytes);
        A::load(kSwapped ? params.b : params.a, stage, turn.arrived(), kSwapped ? column : row, step);
        B::template load<CLUSTER>(kSwapped ? params.a : params.b, stage + A::kBytes, turn.arrived(),
                                  kSwapped ? row : column, step, static_cast<int>(walk.rank));
        if constexpr (kHasRest) {
          Rest::template load<CLUSTER>(params.b_rest, stage + kRest, turn.arrived(),
                                       static_cast<int>(static_cast<unsigned>(column) + kLongColumns), step,
                                       static_cast<int>(walk.rank));
        }
        turn.advance();
      }
    }
  }

  // Where a warp group's operands begin in stage 0, for the tensor cores.
  struct Descriptors {
    unsigned long long a, b, rest;
    RegisterOperand<kSteps> words;  // in place of `a` if swapped
    __device__ __forceinline__ Descriptors(unsigned shared, int group)
        : a(matrix_descriptor<A::kLineBytes>(shared + group * kRowBlocks * kBlockBytes, A::kPanelBytes,
                                             8 * A::kLineBytes)),
          b(matrix_descriptor<B::kLineBytes>(shared + A::kBytes, B::kPanelBytes, 8 * B::kLineBytes)),
          rest(matrix_descriptor<Rest::kLineBytes>(shared + kRest, Rest::kPanelBytes, 8 * Rest::kLineBytes)),
          words(shared + group * kRowBlocks * kBlockBytes) {}
  };
  // From 64 rows to the next, and from a product's steps to the next.
  static constexpr int kBlockBytes = kAlongA ? 64 * A::kLineBytes : 64 / A::kLineElements * A::kPanelBytes;
  static constexpr int kGroupBytesA = kAlongA ? kSize * kGroup : kGroup * A::kLineBytes;
  static constexpr int kGroupBytesB = kAlongB ? kSize * kGroup : kGroup * B::kLineBytes;
  static constexpr int kGroupBytesRest = kGroup * Rest::kLineBytes;

  // A's part of COUNT products, where it goes by registers.
  template <int COUNT>
  struct Words {
    unsigned at[COUNT][kRowBlocks][4];

    __device__ __forceinline__ void load(const Descriptors& from, int stage, int group) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
#pragma unroll
        for (int block = 0; block < kRowBlocks; ++block) {
          from.words.load(at[i][block], group + i, stage * kStageBytes + block * kBlockBytes);
        }
      }
    }
    __device__ __forceinline__ void start(const Descriptors& from, int stage, int group, Sums& sum) const {
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        const unsigned b = (stage * kStageBytes + (group + i) * kGroupBytesB) / 16;
#pragma unroll
        for (int block = 0; block < kRowBlocks; ++block) wgmma<kColumns>(sum[block], at[i][block], from.b + b);
      }
      wgmma_commit();
    }
  };

  // The tensor cores may still be at it when this returns.
  __device__ static __forceinline__ void multiply_group(const Descriptors& from, int stage, int group, Sums& sum) {
    const unsigned a = (stage * kStageBytes + group * kGroupBytesA) / 16;
    const unsigned b = (stage * kStageBytes + group * kGroupBytesB) / 16;
    const unsigned rest = (stage * kStageBytes + group * kGroupBytesRest) / 16;
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      const unsigned long long rows = from.a + a + block * (kBlockBytes / 16);
      wgmma<TYPE, kLongColumns, !kAlongA, !kAlongB>(long_part(sum[block]), rows, from.b + b);
      if constexpr (kHasRest) {
        wgmma<TYPE, kRestColumns, !kAlongA, true>(rest_part(sum[block]), rows, from.rest + rest);
      }
    }
  }

  using LongPart = float[kLongColumns / 2];
  using RestPart = float[kHasRest ? kRestColumns / 2 : 1];
  __device__ static __forceinline__ LongPart& long_part(float (&sum)[kColumns / 2]) {
    return reinterpret_cast<LongPart&>(sum);
  }
  __device__ static __forceinline__ RestPart& rest_part(float (&sum)[kColumns / 2]) {
    return reinterpret_cast<RestPart&>(sum[kLongColumns / 2]);
  }

  // The copy thread of every block of the cluster may fill a stage again.
  __device__ static __forceinline__ void leave(const Turn& turn) {
    const unsigned lane = threadIdx.x % 32;
    if constexpr (CLUSTER == 1) {
      if (lane == 0) barrier_arrive(turn.left());
    } else {
      if (lane < CLUSTER) barrier_arrive_in_block(turn.left(), lane);
    }
  }

  static constexpr int kStageGroups = kSteps / kGroup;

  // So many full stages, from `turn`'s on. Of the last the tensor cores may still be at it when this returns; its turn
  // is returned.
  __device__ static __forceinline__ Turn multiply_stages(int count, const Descriptors& from, Turn& turn, Sums& sum) {
    Turn before = turn;
    for (int done = 0; done < count; ++done) {
      barrier_wait(turn.arrived(), turn.parity);
      wgmma_fence();
#pragma unroll
      for (int group = 0; group < kStageGroups; ++group) multiply_group(from, turn.stage, group, sum);
      wgmma_commit();
      // While this stage is multiplied the one before is left.
      wgmma_wait<1>();
      if (done != 0) leave(before);
      before = turn;
      turn.advance();
    }
    return before;
  }

  // The same by way of registers, and all are left: while a stage is multiplied the words of the next are loaded.
  __device__ static __forceinline__ void multiply_words(int count, const Descriptors& from, Turn& turn, Sums& sum) {
    if (count == 0) return;
    Words<kStageGroups> words[2];
    const auto load = [&](int which) {
      barrier_wait(turn.arrived(), turn.parity);
      words[which].load(from, turn.stage, 0);
    };
    const auto finish = [&](const Turn& of) {
      wgmma_wait<0>();
      leave(of);
    };
    load(0);
    int done = 1;
    for (; done + 1 < count; done += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const Turn before = turn;
        words[i].start(from, turn.stage, 0, sum);
        turn.advance();
        load(1 - i);
        finish(before);
      }
    }
    words[0].start(from, turn.stage, 0, sum);
    finish(turn);
    turn.advance();
    if (done == count) return;
    load(1);
    words[1].start(from, turn.stage, 0, sum);
    finish(turn);
    turn.advance();
  }

  // The chains of a tile, or of a slice of it. `pass_turn` is called when nothing of this tile is waited for any more.
  template <class PASS_TURN>
  __device__ static __forceinline__ void multiply(const Range& range, const Descriptors& from, Turn& turn, Sums& sum,
                                                  PASS_TURN pass_turn) {
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) sum[block][i] = 0.0f;
    }
    const int steps = range.last - range.first;
    [[maybe_unused]] Turn last = turn;
    if constexpr (kSwapped) {
      multiply_words(steps / kSteps, from, turn, sum);
    } else {
      last = multiply_stages(steps / kSteps, from, turn, sum);
    }
    const int left = steps % kSteps;
    if (left != 0) barrier_wait(turn.arrived(), turn.parity);
    pass_turn();
    if constexpr (!kSwapped) {
      wgmma_wait<0>();
      if (steps >= kSteps) leave(last);
    }
    if (left == 0) return;
      // As many groups as the contract has; the last is filled up with zeros.
#pragma unroll 1
    for (int group = 0; group * kGroup < left; ++group) {
      if constexpr (kSwapped) {
        Words<1> words;
        words.load(from, turn.stage, group);
        words.start(from, turn.stage, group, sum);
      } else {
        wgmma_fence();
        multiply_group(from, turn.stage, group, sum);
        wgmma_commit();
      }
      wgmma_wait<0>();
    }
    leave(turn);
    turn.advance();
  }

  // The slices of a tile, each in another block's shared memory, added up in ascending order: every block does a part.
  __device__ static __forceinline__ void add_slices(const GemmParams& p, unsigned shared, const TilePosition& at,
                                                    const Sums& sum, int thread) {
    // They take the place of the stages, from which nobody must multiply any more.
    const unsigned stages_left = shared + kTurnBarriers;
    if (thread % 32 == 0) barrier_arrive(stages_left);
    barrier_wait(stages_left, 0);
    __syncwarp();
    const unsigned mine =
        shared + (thread / 128 * kPartRows + thread % 128 / 32 * 16 + thread % 32 / 4) * kSumLineBytes + thread % 4 * 8;
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < BN / 4; ++i) {
        store_pair(mine + (block * 64 + i % 2 * 8) * kSumLineBytes + i / 2 * 32, sum[block][2 * i],
                   sum[block][2 * i + 1]);
      }
    }
    cluster_sync();
    constexpr int kFours = BN / 4;  // of a row
    constexpr int kTogether = 4;
    const bool vectors = has_vector_rows<F32, 4>(p);
    const bool plain = is_plain(p);
    const int blocks = static_cast<int>(cluster_size());
    const int slices = static_cast<int>((p.reduction + p.slice_length - 1) / p.slice_length);
    const unsigned row = static_cast<unsigned>(at.row);
    const unsigned column = static_cast<unsigned>(at.column);
    const int step = kComputing * blocks;
#pragma unroll 1
    for (int first = static_cast<int>(cluster_rank()) * kComputing + thread; first < BM * kFours;
         first += kTogether * step) {
      OutputFour old[kTogether] = {};
      OutputFour total[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const unsigned four = first + i * step;
        if (!reads_output(p) || four >= BM * kFours) continue;
        old[i].read(p, row + four / kFours, column + four % kFours * 4, vectors);
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) total[i] = sum_in_block(shared, first + i * step, 0);
      for (int slice = 1; slice < slices; ++slice) {
        OutputFour next[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) next[i] = sum_in_block(shared, first + i * step, slice);
#pragma unroll
        for (int i = 0; i < 4 * kTogether; ++i) {
          total[i / 4].at[i % 4] = __fadd_rn(total[i / 4].at[i % 4], next[i / 4].at[i % 4]);
        }
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const unsigned four = first + i * step;
        if (four >= BM * kFours) break;
        if (!plain) total[i].finish(p, column + four % kFours * 4, old[i]);
        total[i].write(p, row + four / kFours, column + four % kFours * 4, vectors);
      }
    }
  }

  // Four sums side by side of one of the tile's slices; zeros beyond the last.
  __device__ static __forceinline__ OutputFour sum_in_block(unsigned shared, unsigned four, int slice) {
    constexpr unsigned kFours = BN / 4;
    if (four >= BM * kFours) return {};
    return load_in_block<OutputFour>(shared + four / kFours * kSumLineBytes + four % kFours * 16, slice);
  }

  // Old outputs are on their way to L2 while the products are summed up.
  __device__ static __forceinline__ void prefetch_old(const GemmParams& p, const TilePosition& at, int part) {
    using Bits = typename OutputElement<OUT>::Bits;
    constexpr int kLineElements = 128 / sizeof(Bits);
    constexpr int kPart = kSwapped ? kPartRows : BN;  // columns
    constexpr int kLines = (kPart + kLineElements - 1) / kLineElements;
    const Bits* const out = static_cast<const Bits*>(p.out);
    const long long row = at.row + (kSwapped ? 0 : part * kPartRows);
    const long long column = at.column + (kSwapped ? part * kPartRows : 0);
#pragma unroll 1
    for (int i = threadIdx.x % 128; i < (kSwapped ? BM : kPartRows) * kLines; i += 128) {
      const long long x = column + i % kLines * kLineElements;
      const long long y = row + i / kLines;
      if (x < p.columns && y < p.rows) prefetch_line(out + y * p.ldout + x);
    }
  }

  __device__ static __forceinline__ void compute(const TensorParams& params, unsigned shared, int group) {
    const GemmParams& p = params.gemm;
    const Range range(p);
    const int part = kTurns ? 0 : group;
    const Descriptors from(shared, part);
    Turn turn{shared + kBarriers};
    Walk walk(p);
    const unsigned stages = (static_cast<unsigned>(range.last - range.first) + kSteps - 1) / kSteps;
    if (kTurns && group == 1) {
      walk.advance();
      turn.skip(stages);
    }
    // A phase of a stage's barrier is known by its parity alone: whoever waits for one must be sure that the one before
    // has ended. So nobody waits for a tile's stages before all of the last tile's have arrived.
    const unsigned mine = shared + kTurnBarriers + 8 * group;
    const unsigned others = shared + kTurnBarriers + 8 * (1 - group);
    unsigned parity = group == 0 ? 1 : 0;
    Store store{params, shared + kStores + threadIdx.x / 32 * Store::kBytes};
    while (walk.exists()) {
      const TilePosition at = walk.position(p);
      if (reads_output(p)) prefetch_old(p, at, part);
      if constexpr (kTurns) barrier_wait(mine, parity);
      Sums sum;
      multiply(range, from, turn, sum, [&] {
        if (kTurns && threadIdx.x % 32 == 0) barrier_arrive(others);
      });
      if constexpr (kSliced) {
        add_slices(p, shared, at, sum, static_cast<int>(threadIdx.x));
      } else {
#pragma unroll
        for (int block = 0; block < kRowBlocks; ++block) {
          const unsigned first = part * kPartRows + block * 64;
          const unsigned row = static_cast<unsigned>(at.row);
          const unsigned column = static_cast<unsigned>(at.column);
          if constexpr (kSwapped) {
            store_transposed<BM>(p, sum[block], row, column + first);
          } else {
            store.store(sum[block], row + first + threadIdx.x % 128 / 32 * 16, column);
          }
        }
      }
      walk.advance(kTurns ? 2 : 1);
      if constexpr (kTurns) turn.skip(stages);
      parity ^= 1;
    }
    if constexpr (!kSliced) store.wait();
  }

  static_assert(STAGES <= 32, "a lane for each stage");
  __device__ static __forceinline__ void make_barriers(unsigned shared, int thread) {
    if (thread < STAGES) {
      const Turn turn{shared + kBarriers, thread};
      barrier_init(turn.arrived(), 1);
      barrier_init(turn.left(), (kTurns ? 4 : 4 * GROUPS) * CLUSTER);
      publish_barriers();
    }
    if (kTurns && thread < GROUPS) barrier_init(shared + kTurnBarriers + 8 * thread, 4);
    if (kSliced && thread == 0) barrier_init(shared + kTurnBarriers, kComputing / 32);
  }

  __device__ static __forceinline__ void prefetch_maps(const TensorParams& params) {
    tensor_prefetch(params.a);
    tensor_prefetch(params.b);
    if constexpr (kHasRest) tensor_prefetch(params.b_rest);
    tensor_prefetch(params.out);
  }

  __device__ static __forceinline__ void run(const TensorParams& params) {
    extern __shared__ float4 dynamic_shared[];
    const unsigned shared = (shared_address(dynamic_shared) + kBase - 1) / kBase * kBase;
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (CLUSTER > 1) {
      // Nobody may copy into a block that is not there yet.
      make_barriers(shared, thread);
      if (thread == kComputing) prefetch_maps(params);
      __syncwarp();
      cluster_sync();
    } else if (thread / 32 == kComputing / 32) {
      // The warp that copies makes the barriers, and waits for nobody.
      if (thread == kComputing) prefetch_maps(params);
      make_barriers(shared, thread % 32);
      __syncwarp();
      hand_over<kComputing + 32>();
    } else if (thread < kComputing) {
      wait_for_hand_over<kComputing + 32>();
    }
    const int group = thread / 128;
    if (group == GROUPS) {
      if constexpr (GROUPS > 1) give_up_registers<kCopyRegisters>();
      if (thread == kComputing) copy(params, shared);
      __syncwarp();
      if constexpr (kSliced) cluster_sync();  // with those that add them up
    } else {
      if constexpr (GROUPS > 1) claim_registers<kComputeRegisters>();
      compute(params, shared, group);
    }
    if constexpr (CLUSTER > 1 || kSliced) {
      // A block's shared memory stays until no other copies into it, arrives at its barriers or reads its sums.
      __syncwarp();
      cluster_sync();
    }
  }
};

}  // namespace mgemm_kernel
