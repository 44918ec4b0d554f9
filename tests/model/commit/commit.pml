// SPDX-License-Identifier: Apache-2.0
//
// The commit of a step, checkpoints and the ledger, under crashes at any moment. Mirrors core/train/commit.h; checked
// exhaustively with spin (Holzmann, "The SPIN Model Checker", 2003).
//
// States of a rank, as in commit.h, and what moves it on:
//
//   computing   lanes run, gradients gather            -> reduced when all its lanes are in
//   reduced     the summed gradient is complete        -> exchanging
//   exchanging  its scalars go to one peer after the other; those of the peers arrive
//                                                      -> committed when it has sent to all and heard from all
//   committed   it has all that the step needs         -> applied, whatever happens to others
//   appending   (ledger's writer only) the step is applied but not yet in the ledger
//                                                      -> computing the next step, or done
//   aborted     it saw that a member is lost; nothing of this generation can reach it any more
//                                                      -> agreeing, when all who live have stopped and a generation is formed
//   agreeing    it says which step it applied last and hears from all
//                                                      -> applied the latest of them (with a copy of a peer that has it),
//                                                         or discarded its unfinished step
//   repairing   (ledger's writer only) cuts the ledger to the agreed step and adds that step if it is missing
//                                                      -> computing, or done
//   done        the last step is applied; waits for its checkpoint
//
// A resume is an agreement in which everybody's last step is that of the checkpoint. It may have any number of ranks.
//
// Crashes: any rank at any moment, CRASHES times; once everything at once; and a run without recovery, where a lost rank ends
// all others.
//
// Proved, by assertions at the places named:
//   P1  no rank applies a step that another survivor discards                                        (decide)
//   P2  ranks that exchange scalars of a step have all applied exactly the steps before it            (complete)
//   P3  a checkpoint of a step is published only when all its ranks have applied the step             (publish)
//   P4  the ledger has each step up to a published checkpoint exactly once, at every publish          (publish)
//   P5  a resume continues at the newest published step, whose ledger is there                        (resume)
//   P6  the run always ends with its last step published: no deadlock and no endless way              (spin's end states)
//
// Each definition MUTATE_... breaks one rule of the protocol; spin must then find an error. run_model.sh checks that too.

#ifndef STEPS
#define STEPS 2
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#define SAVE_EVERY 1
#define N 3
#define ALL 7
#define BIT(r) (1 << (r))
#define IS(mask, r) (((mask) >> (r)) & 1)
#define GOT(r, s) got[(r) * 2 + (s) % 2]  // a peer is at most one step ahead, so the parity of the step tells messages apart
#define OVER (published == STEPS)
#define LOST (members & ~alive)
#define WRITER ((members & 1) -> 0 : ((members & 2) -> 1 : 2))  // lowest member: keeps the ledger and publishes
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#ifdef MUTATE_NO_LEARNING
#define AGREED(me) report[me]
#else
#define AGREED(me) MAX(MAX(report[0], report[1]), report[2])  // that of who is no member is 0
#endif
#define HAS_COPY(r, s) (IS(members & alive, r) && applied[r] >= (s))
#ifdef MUTATE_EARLY_PUBLISH
#define WRITTEN(s) (shards[s] != 0)
#else
#define WRITTEN(s) (shards[s] == members)
#endif

mtype = {computing, reduced, exchanging, committed, appending, aborted, agreeing, repairing, done};

mtype state[N];
byte applied[N];         // last step in this rank's state
byte sent[N];            // peers to whom it has sent its scalars of step applied + 1
byte got[2 * N];         // peers whose scalars have arrived, by parity of the step
byte pending[N];         // step of which it has yet to write its part of the checkpoint; 0: none
byte alive, members;     // sets of ranks; members is the generation's
byte report[N];          // what each said while agreeing
byte reported;           // who said it
byte shards[STEPS + 3];  // who has written its part, by step
byte ledger[STEPS + 1];  // entries for each step
byte published;          // newest published step; 0 is the initial state
byte crashes;
bool killed_all;
byte i, agreed;          // scratch, only used inside atomic steps

// Leaves the applied step `s` behind: next step, or the end.
inline proceed(me, s) {
  sent[me] = 0;
  if
  :: s == STEPS -> state[me] = done
  :: else -> state[me] = computing
  fi
}

inline ask_for_save(me, s) {
  if
  :: s > published && s % SAVE_EVERY == 0 -> pending[me] = s
  :: else
  fi
}

// A new generation of `ranks`, who begin by agreeing. Nothing of an older one is delivered any more.
inline form(ranks) {
  members = ranks;
  reported = 0;
  i = 0;
  do
  :: i < N ->
#ifndef MUTATE_LATE_RECEIVE
     GOT(i, 0) = 0; GOT(i, 1) = 0;
#endif
     sent[i] = 0; pending[i] = 0; report[i] = 0;
     if
     :: IS(ranks, i) -> state[i] = agreeing
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0;
  do
  :: i <= STEPS -> shards[i] = 0; i++
  :: else -> break
  od;
  i = 0
}

proctype Rank(byte me) {
  byte peer;
  do
  :: atomic { OVER -> break }

  // Crash.
  :: atomic { !OVER && IS(alive, me) && crashes < CRASHES -> alive = alive & ~BIT(me); crashes++ }

  // The step.
  :: atomic { !OVER && IS(alive, me) && state[me] == computing -> state[me] = reduced }
  :: atomic { !OVER && IS(alive, me) && state[me] == reduced -> state[me] = exchanging }
  :: atomic {
       !OVER && IS(alive, me) && state[me] == exchanging && (sent[me] | BIT(me)) != members ->
       peer = 0;
       do
       :: peer < N && (!IS(members, peer) || peer == me || IS(sent[me], peer)) -> peer++
       :: else -> break
       od;
       sent[me] = sent[me] | BIT(peer);
       if
       :: IS(alive, peer) && state[peer] != aborted ->
          assert(applied[peer] == applied[me] || applied[peer] + 1 == applied[me] || applied[peer] == applied[me] + 1);
          GOT(peer, applied[me] + 1) = GOT(peer, applied[me] + 1) | BIT(me)
#ifdef MUTATE_LATE_RECEIVE
       :: IS(alive, peer) && state[peer] == aborted -> GOT(peer, applied[me] + 1) = GOT(peer, applied[me] + 1) | BIT(me)
#endif
       :: else
       fi;
       peer = 0
     }
  :: atomic {  // complete
       !OVER && IS(alive, me) && state[me] == exchanging && (sent[me] | BIT(me)) == members &&
       (GOT(me, applied[me] + 1) | BIT(me)) == members ->
       i = 0;
       do
       :: i < N ->
          assert(!IS(members, i) || applied[i] == applied[me] || applied[i] == applied[me] + 1);  // P2
          i++
       :: else -> break
       od;
       i = 0;
       state[me] = committed
     }
  :: atomic {
       !OVER && IS(alive, me) && state[me] == committed && (pending[me] == 0 || (applied[me] + 1) % SAVE_EVERY != 0) ->
       GOT(me, applied[me] + 1) = 0;
       applied[me]++;
       ask_for_save(me, applied[me]);
       if
       :: me == WRITER -> state[me] = appending
       :: else -> proceed(me, applied[me])
       fi
     }
  :: atomic {
       !OVER && IS(alive, me) && state[me] == appending ->
       ledger[applied[me]]++;
       proceed(me, applied[me])
     }

  // The checkpoint: written beside training, but the writer of the ledger has first brought it up to the step.
  :: atomic {
       !OVER && IS(alive, me) && pending[me] != 0 && state[me] != aborted && state[me] != appending && state[me] != repairing ->
       shards[pending[me]] = shards[pending[me]] | BIT(me);
       pending[me] = 0
     }
  :: atomic {  // publish
       !OVER && IS(alive, me) && state[me] != aborted && state[me] != agreeing && me == WRITER &&
       (WRITTEN(published + 1) || (published + 2 <= STEPS && WRITTEN(published + 2))) ->
       agreed = (WRITTEN(published + 1) -> published + 1 : published + 2);
       i = 0;
       do
       :: i < N -> assert(!IS(members, i) || applied[i] >= agreed); i++  // P3
       :: else -> break
       od;
       i = 1;
       do
       :: i <= agreed -> assert(ledger[i] == 1); i++  // P4
       :: else -> break
       od;
       published = agreed;
       i = 0; agreed = 0
     }

  // Recovery. A rank that has committed applies first.
  :: atomic {
       !OVER && IS(alive, me) && LOST && state[me] != aborted && state[me] != committed && state[me] != appending ->
#ifndef MUTATE_LATE_RECEIVE
       GOT(me, 0) = 0; GOT(me, 1) = 0;
#endif
       state[me] = aborted
     }
#ifdef MUTATE_LATE_RECEIVE
  :: atomic {
       !OVER && IS(alive, me) && state[me] == agreeing && IS(reported, me) && members != ALL &&
       (GOT(me, applied[me] + 1) | BIT(me)) == ALL ->
       applied[me]++
     }
#endif
  :: atomic {
       !OVER && IS(alive, me) && state[me] == agreeing && !IS(reported, me) ->
       report[me] = applied[me];
       reported = reported | BIT(me)
     }
  :: atomic {  // decide
       // The copy comes from a member that lives. If none has it any more, this generation is lost too.
       !OVER && IS(alive, me) && state[me] == agreeing && reported == members &&
       (HAS_COPY(0, AGREED(me)) || HAS_COPY(1, AGREED(me)) || HAS_COPY(2, AGREED(me))) ->
       agreed = AGREED(me);
       i = 0;
       do
       :: i < N -> assert(!IS(members & alive, i) || applied[i] <= agreed); i++  // P1
       :: else -> break
       od;
       assert(applied[me] == agreed || applied[me] + 1 == agreed);
       applied[me] = agreed;
       ask_for_save(me, agreed);
       if
       :: me == WRITER -> state[me] = repairing
       :: else -> proceed(me, agreed)
       fi;
       i = 0; agreed = 0
     }
  :: atomic {
       !OVER && IS(alive, me) && state[me] == repairing ->
#ifndef MUTATE_NO_REPAIR
       i = applied[me] + 1;
       do
       :: i <= STEPS -> ledger[i] = 0; i++
       :: else -> break
       od;
       i = 0;
#endif
       if
       :: applied[me] > 0 && ledger[applied[me]] == 0 -> ledger[applied[me]] = 1
       :: else
       fi;
       proceed(me, applied[me])
     }
  od
}

// The coordinator: forms generations of the survivors, ends runs without recovery, and the user, who resumes.
proctype Launcher() {
  byte r;
  do
  :: atomic { OVER -> break }
  :: atomic { !OVER && !killed_all && alive != 0 -> alive = 0; killed_all = true }
  :: atomic { !OVER && LOST && alive != 0 -> alive = 0 }
  :: atomic {  // every survivor has stopped: nobody completes the old generation's exchange any more
       !OVER && LOST && alive != 0 && (!IS(alive, 0) || state[0] == aborted) && (!IS(alive, 1) || state[1] == aborted) &&
       (!IS(alive, 2) || state[2] == aborted) ->
       form(alive)
     }
  :: atomic {  // resume
       !OVER && alive == 0 ->
       assert(published == 0 || ledger[published] == 1);  // P5
       r = 0;
       do
       :: r < N -> applied[r] = published; r++
       :: else -> break
       od;
       r = 0;
       if
       :: alive = ALL
       :: alive = 3
       :: alive = 1
       fi;
       form(alive)
     }
  od
}

init {
  atomic {
    alive = ALL;
    form(ALL);
    run Rank(0);
    run Rank(1);
    run Rank(2);
    run Launcher()
  }
}
