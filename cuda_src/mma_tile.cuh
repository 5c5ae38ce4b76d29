// Products on tensor cores (contracts MMA_F32 and TF32): one thread block computes one tile of the output. Some of its
// warps only copy and the others only compute, and neither waits for all of the others: a stage is handed over by two
// barriers. The chains of a computing warp go on across stages without a pause.
#pragma once
#include "fragment_store.cuh"
#include "hand_over.cuh"
#include "mma_warp.cuh"
#include "stage_turn.cuh"
#include "tile_position.cuh"

namespace mgemm_kernel {

// WARP_ROWS x WARP_COLUMNS warps compute and COPY_WARPS copy; with TENSOR_MAPS those are two, one for each operand,
// that let the copy engine do it. OUT is the output's type. With SLICE_GROUPS there are as many times more computing
// warps, and as many slices of the reduction are computed side by side; else there is one slice.
template <int OP, int TYPE, int OUT, int BM, int BN, int BK, int STAGES, int WARP_ROWS, int WARP_COLUMNS,
          int COPY_WARPS, int ALIGN, bool TENSOR_MAPS, int SLICE_GROUPS>
struct MmaTile {
  static constexpr bool kSliced = SLICE_GROUPS != 0;
  static constexpr int kGroupsOfWarps = kSliced ? SLICE_GROUPS : 1;
  static constexpr int kWarps = WARP_ROWS * WARP_COLUMNS;  // of a slice
  static constexpr int kComputing = 32 * kWarps * kGroupsOfWarps;
  static constexpr int kCopying = 32 * COPY_WARPS;
  static constexpr int kThreads = kComputing + kCopying;
  using A = MmaOperand<TYPE, BM, BK, OP != TN, ALIGN, kCopying>;
  using B = MmaOperand<TYPE, BN, BK, OP == NT, ALIGN, kCopying>;
  using SourceA = EitherSource<A, MmaOperand<TYPE, BM, BK, OP != TN, 16, kCopying>>;
  using SourceB = EitherSource<B, MmaOperand<TYPE, BN, BK, OP == NT, 16, kCopying>>;
  // Elements that cp.async cannot copy are written, and arrive apart from those of the other operand that it can.
  static constexpr bool kWrites = ALIGN < 4;
  static constexpr int kArrivals = TENSOR_MAPS ? COPY_WARPS : kWrites ? 2 * kCopying : kCopying;
  static constexpr int kRowBlocks = BM / WARP_ROWS / 16;
  static constexpr int kColumnBlocks = BN / WARP_COLUMNS / 8;
  using Warp = MmaWarp<TYPE, A, B, kRowBlocks, kColumnBlocks>;
  using Sums = typename Warp::Sums;
  static_assert(BM == Warp::kRows * WARP_ROWS && BN == Warp::kColumns * WARP_COLUMNS, "whole fragments");
  // Every group of warps has a ring of stages of its own: a phase of a barrier is known by its parity alone, so whoever
  // waits for one must have seen the one before, and copies do not arrive in order.
  static_assert(STAGES % kGroupsOfWarps == 0 && (!kSliced || STAGES >= 2 * kGroupsOfWarps), "stages of its own");
  static_assert(!kSliced || 64 % BK == 0, "a slice ends with a stage");

  // Shared memory: stages; sums of all slices but the first of those side by side; two barriers a stage, it has arrived
  // and it has been left; and two for the sums, or one for the stages as a whole. The copy engine permutes by address,
  // so that its stages begin at multiples of kBase.
  static constexpr int kStageBytes = A::kBytes + B::kBytes;
  static constexpr int kSumFloats = Warp::kRows * Warp::kColumns / 32;  // a thread
  static constexpr int kSums = STAGES * kStageBytes;
  static constexpr int kBarriers = kSums + (kGroupsOfWarps - 1) * (128 * kWarps * kSumFloats);
  static constexpr int kSumsReady = kBarriers + 16 * STAGES;
  static constexpr int kSumsTaken = kSumsReady + 8;
  // Sums on their way to the output have places where the other slices' were, or, when all have left the stages, there.
  static constexpr bool kStoresByPlaces = !are_few<kRowBlocks, kColumnBlocks>;
  static constexpr int kStagesLeft = kSumsReady;
  static_assert(!kStoresByPlaces || kSliced || 4 * BM * BN <= kSums, "a place for each sum");
  static constexpr int kBase = TENSOR_MAPS ? 1024 : 16;
  static constexpr int kSharedBytes = kBarriers + 16 * (STAGES + 1) + (TENSOR_MAPS ? kBase : 0);
  static_assert(!TENSOR_MAPS || (COPY_WARPS == 2 && A::kBytes % kBase == 0 && kStageBytes % kBase == 0), "aligned");

  static constexpr int kGroup = A::kGroup;
  static constexpr int kGroups = BK / kGroup;  // of a stage
  // Groups whose fragments are held: one that is multiplied, others to come. Long chains of few sums need more of them.
  static constexpr int kBuffers = kSumFloats > 32 ? 2 : 4;
  static_assert(BK % kGroup == 0 && kGroups % kBuffers == 0, "fragments stay in the same registers");

  using Turn = StageTurn<STAGES>;

  // The slices that are computed side by side, from `first`; all but the last of all have the same length.
  struct Round {
    long long length, reduction;
    long long first = 0;
    int count;  // of slices

    __device__ __forceinline__ explicit Round(const GemmParams& p)
        : length(kSliced ? p.slice_length : p.reduction), reduction(p.reduction) {
      count = size();
    }
    __device__ __forceinline__ int size() const {
      if constexpr (!kSliced) return 1;
      const long long left = (reduction - first + length - 1) / length;
      return left < kGroupsOfWarps ? static_cast<int>(left) : kGroupsOfWarps;
    }
    __device__ __forceinline__ bool exists() const { return first < reduction; }
    __device__ __forceinline__ void advance() {
      first += kGroupsOfWarps * length;
      count = size();
    }
    // Steps of one of the slices that are left after `done`.
    __device__ __forceinline__ long long left(int slice, long long done) const {
      const long long from = first + slice * length;
      return (reduction - from < length ? reduction - from : length) - done;
    }
  };

  // Visits the stages in the order in which they are filled: step by step the slices of a round. `fill` gets a turn,
  // the step of the reduction, and how many are left of its slice.
  template <class FILL>
  __device__ static __forceinline__ void for_each_stage(const GemmParams& p, unsigned shared, FILL fill) {
    Turn turn{shared + kBarriers};
    for (Round round(p); round.exists(); round.advance()) {
      for (long long done = 0; done < round.left(0, 0); done += BK) {
        for (int slice = 0; slice < round.count; ++slice) {
          const long long left = round.left(slice, done);
          if (left <= 0) continue;
          Turn own = turn;
          own.stage += slice;
          barrier_wait(own.left(), own.parity ^ 1);  // at once the first time round
          fill(own, round.first + slice * round.length + done, left);
        }
        turn.advance(kGroupsOfWarps);
      }
    }
  }

  struct Sources {
    SourceA a;
    SourceB b;

    __device__ __forceinline__ Sources(const GemmParams& p, const TilePosition& at, int thread)
        : a(p.a, p.lda, at.row, p.rows, thread), b(p.b, p.ldb, at.column, p.columns, thread) {}
    __device__ __forceinline__ void copy(unsigned char* stage, long long step, long long left) const {
      a.copy(stage, step, left);
      b.copy(stage + A::kBytes, step, left);
    }
  };

  // The copies of the first stage are on their way before there are barriers; where they are narrow it is not worth
  // the code.
  static constexpr bool kAhead = ALIGN == 16;
  __device__ static __forceinline__ void copy_ahead(const GemmParams& p, unsigned char* shared, const TilePosition& at,
                                                    int thread) {
    const Round round(p);
    if (round.exists()) Sources(p, at, thread).copy(shared, 0, round.left(0, 0));
  }

  __device__ static __forceinline__ void copy(const GemmParams& p, unsigned char* shared, unsigned address,
                                              const TilePosition& at, int thread) {
    const Sources sources(p, at, thread);
    for_each_stage(p, address, [&](const Turn& turn, long long step, long long left) {
      if (!kAhead || step != 0) sources.copy(shared + turn.stage * kStageBytes, step, left);
      if constexpr (kWrites) barrier_arrive(turn.arrived());
      barrier_arrive_after_copies(turn.arrived());
    });
  }

  // The engine copies one operand; called by one thread. Either operand makes a stage's barrier wait for its bytes.
  template <class OPERAND>
  __device__ static __forceinline__ void copy_boxes(const GemmParams& p, const TensorMap& map, unsigned shared,
                                                    int offset, long long first) {
    for_each_stage(p, shared, [&](const Turn& turn, long long step, long long) {
      barrier_expect(turn.arrived(), OPERAND::kBytes);
      OPERAND::Panels::load(map, shared + turn.stage * kStageBytes + offset, turn.arrived(), static_cast<int>(first),
                            static_cast<int>(step));
    });
  }

  // Adds up one of the slices of a round. `turn` is that of its first stage, and then that of its group of warps in the
  // next round.
  __device__ static __forceinline__ void multiply(const Round& round, int slice, const typename Warp::Readers& first,
                                                  Turn& turn, Sums& sum) {
    constexpr int kAhead = kBuffers - 1;
    typename Warp::Readers readers = first;
    readers.move(turn.stage * kStageBytes);
    typename Warp::Fragments fragments[kBuffers];
    barrier_wait(turn.arrived(), turn.parity);
#pragma unroll
    for (int group = 0; group < kAhead; ++group) fragments[group].load(readers, group);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    // All stages but the last are full, and lead on to the next without a pause.
    long long done = 0;
    const long long steps = round.left(slice, 0);
    for (; steps - done > BK; done += BK) {
      Turn next = turn;
      next.advance(kGroupsOfWarps);
      typename Warp::Readers following = first;
      following.move(next.stage * kStageBytes);
      bool is_there = false;
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const int ahead = group + kAhead;
        // Asked early, behind a product, for an answer takes as long as one.
        if (group == 1) is_there = barrier_test(next.arrived(), next.parity);
        if (ahead == kGroups && !is_there) barrier_wait(next.arrived(), next.parity);
        fragments[ahead % kBuffers].load(ahead < kGroups ? readers : following, ahead % kGroups);
        fragments[group % kBuffers].multiply(sum);
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(turn.left());
      turn = next;
      readers = following;
    }
    // As many groups as the contract has; the last is filled up with zeros.
    const int left = static_cast<int>(steps - done);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (group * kGroup >= left) break;
      if (group + kAhead < kGroups) fragments[(group + kAhead) % kBuffers].load(readers, group + kAhead);
      fragments[group % kBuffers].multiply(sum);
    }
    if constexpr (kSliced) {
      __syncwarp();
      if (lane == 0) barrier_arrive(turn.left());
      turn.advance(kGroupsOfWarps);
    }
  }

  // All slices of this thread's group of warps. The first group gathers the sums of the others and adds them up in
  // ascending order; `total` is of no use in the others.
  __device__ static __forceinline__ void add_slices(const GemmParams& p, float* sums, unsigned shared, int group,
                                                    const typename Warp::Readers& first, Sums& total) {
    constexpr int kGroupThreads = 32 * kWarps;
    float* const mine = sums + threadIdx.x % kGroupThreads;
    Turn turn{shared + kBarriers};
    turn.stage = group;
    unsigned parity = 0;
    for (Round round(p); round.exists(); round.advance()) {
      Sums sum = {};
      if (group < round.count) multiply(round, group, first, turn, sum);
      float* const flat = &sum[0][0][0];
      float* const flat_total = &total[0][0][0];
      if (group != 0) {
        barrier_wait(shared + kSumsTaken, parity ^ 1);  // at once the first time
#pragma unroll
        for (int i = 0; i < kSumFloats; ++i) mine[((group - 1) * kSumFloats + i) * kGroupThreads] = flat[i];
        barrier_arrive(shared + kSumsReady);
      } else {
#pragma unroll
        for (int i = 0; i < kSumFloats; ++i) {
          flat_total[i] = round.first == 0 ? flat[i] : __fadd_rn(flat_total[i], flat[i]);
        }
        barrier_wait(shared + kSumsReady, parity);
        for (int other = 1; other < round.count; ++other) {
#pragma unroll
          for (int i = 0; i < kSumFloats; ++i) {
            flat_total[i] = __fadd_rn(flat_total[i], mine[((other - 1) * kSumFloats + i) * kGroupThreads]);
          }
        }
        barrier_arrive(shared + kSumsTaken);
      }
      parity ^= 1;
    }
  }

  // By a warp, or by all threads.
  static_assert(STAGES < 32, "a lane for each stage, and one more");
  __device__ static __forceinline__ void make_barriers(unsigned shared, int thread) {
    if (thread < STAGES) {
      const Turn turn{shared + kBarriers, thread};
      barrier_init(turn.arrived(), kArrivals);
      barrier_init(turn.left(), kWarps);
      if constexpr (TENSOR_MAPS) publish_barriers();
    }
    if (thread != STAGES) return;
    if constexpr (kSliced) {
      barrier_init(shared + kSumsReady, kComputing - 32 * kWarps);
      barrier_init(shared + kSumsTaken, 32 * kWarps);
    } else {
      barrier_init(shared + kStagesLeft, kWarps);
    }
  }

  // `params` are TensorParams or GemmParams.
  template <class PARAMS>
  __device__ static __forceinline__ void run(const PARAMS& params) {
    extern __shared__ float4 dynamic_shared[];
    const GemmParams& p = gemm_of(params);
    const unsigned before = shared_address(dynamic_shared);
    const unsigned base = (before + kBase - 1) / kBase * kBase;
    unsigned char* const shared = reinterpret_cast<unsigned char*>(dynamic_shared) + (base - before);
    const TilePosition at = tile_position<BM, BN>(p, blockIdx.x);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int copying = static_cast<int>(threadIdx.x) - kComputing;
    if constexpr (TENSOR_MAPS) {
      // The warp that copies b makes the barriers, and waits for nobody.
      if (copying == 0) tensor_prefetch(params.b);
      if (copying == 32) tensor_prefetch(params.a);
      if (warp == kComputing / 32) {
        make_barriers(base, copying);
        __syncwarp();
        hand_over<kThreads>();
      } else {
        wait_for_hand_over<kThreads>();
      }
    } else {
      make_barriers(base, static_cast<int>(threadIdx.x));
      if (kAhead && copying >= 0) copy_ahead(p, shared, at, copying);
      __syncthreads();
    }
    if (copying >= 0) {
      if constexpr (TENSOR_MAPS) {
        if (threadIdx.x % 32 != 0) return;
        if (warp == kComputing / 32) {
          copy_boxes<B>(p, params.b, base, A::kBytes, at.column);
        } else {
          copy_boxes<A>(p, params.a, base, 0, at.row);
        }
      } else {
        copy(p, shared, base, at, copying);
      }
      return;
    }
    const int row = warp % kWarps / WARP_COLUMNS * Warp::kRows;
    const int column = warp % WARP_COLUMNS * Warp::kColumns;
    const typename Warp::Readers first(base, row, column);
    Sums sum = {};
    if constexpr (kSliced) {
      const int group = warp / kWarps;
      add_slices(p, reinterpret_cast<float*>(shared + kSums), base, group, first, sum);
      if (group != 0) return;
    } else if (p.reduction != 0) {
      Turn turn{base + kBarriers};
      multiply(Round(p), 0, first, turn, sum);
    }
    if constexpr (kStoresByPlaces && !kSliced) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(base + kStagesLeft);
    }
    const auto find_places = [&] {
      if constexpr (!kSliced) barrier_wait(base + kStagesLeft, 0);
      return reinterpret_cast<float*>(shared + (kSliced ? kSums : 0)) + threadIdx.x;
    };
    store_fragments<OUT, 32 * kWarps, kRowBlocks, kColumnBlocks>(p, sum, at.row + row, at.column + column, find_places);
  }
};

}  // namespace mgemm_kernel
