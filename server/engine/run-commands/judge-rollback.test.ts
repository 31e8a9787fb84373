import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeRollback as judge } from './judge-rollback.ts'
import type { LiveRelease } from './live-on-servers.ts'

type Input = Parameters<typeof judge>[0]
const judgeRollback = (input: Input, releases: LiveRelease[], unknown: LiveRelease['servers'] = []) =>
  judge(input, { releases, unknown })

const commit = (hash: string) => ({ hash }) as LiveRelease['commit']

const live = (releaseName: string, actionIds: number[], ...names: string[]): LiveRelease => ({
  releaseName,
  commit: commit('1a2b3c4d5e6f'),
  actionIds,
  servers: names.map((name, index) => ({ id: index + 1, name })),
})

const NEW = live('20260101000002-22222222', [42], 'web-1', 'web-2')
const OLD = live('20260101000001-11111111', [44, 41], 'web-3')

function problemOf(...given: Parameters<typeof judgeRollback>) {
  const judged = judgeRollback(...given)
  assert.ok(judged.kind === 'conflict', judged.kind)
  return [judged.code ?? 'conflict', judged.reason]
}

test('a rollback undoes what is live on the servers, also when it names one of the runs that made it live', () => {
  assert.deepEqual(judgeRollback({}, [NEW]), { kind: 'start', from: NEW })
  assert.deepEqual(judgeRollback({ rollback_from: 42 }, [NEW]), { kind: 'start', from: NEW })
  for (const rollback_from of [41, 44])
    assert.deepEqual(judgeRollback({ rollback_from }, [OLD]), { kind: 'start', from: OLD })
})

test('a run that is live on no server leaves nothing to roll back, whatever release is named: what is live is', () => {
  for (const release_name of [undefined, '20260101000001-11111111'])
    assert.deepEqual(problemOf({ rollback_from: 41, release_name }, [NEW]), [
      'nothing_to_roll_back',
      'Nothing to roll back: run #41 is not live. Live now: 20260101000002-22222222 (commit 1a2b3c4d, run #42).',
    ])
  assert.deepEqual(problemOf({ rollback_from: 7 }, [NEW, { ...OLD, commit: null }]), [
    'nothing_to_roll_back',
    'Nothing to roll back: run #7 is not live. Live now: 20260101000002-22222222 (commit 1a2b3c4d, run #42) on web-1, web-2; 20260101000001-11111111 (run #44) on web-3.',
  ])
  assert.deepEqual(problemOf({ rollback_from: 7 }, []), [
    'nothing_to_roll_back',
    'Nothing to roll back: run #7 is not live. Nothing is live on its servers.',
  ])
})

test('servers with different live releases need the name of the release', () => {
  for (const rollback_from of [undefined, 42])
    assert.deepEqual(problemOf({ rollback_from }, [NEW, OLD]), [
      'live_releases_differ',
      'The servers have different live releases: 20260101000002-22222222 on web-1, web-2; 20260101000001-11111111 on web-3. Name the release to roll back to, or choose servers that have the same one.',
    ])
  assert.deepEqual(judgeRollback({ release_name: 'any' }, [NEW, OLD]), { kind: 'start', from: null })
})

test('a server of which it is not known what it serves needs the name of the release', () => {
  const unknown = [{ id: 9, name: 'web-9' }]
  for (const rollback_from of [undefined, 42, 7])
    for (const releases of [[], [NEW]])
      assert.deepEqual(problemOf({ rollback_from }, releases, unknown), [
        'live_unknown',
        'The live release on web-9 is unknown, so there is no release before it. Name the release to roll back to, or wait until Gantry has reached the server.',
      ])
  for (const rollback_from of [undefined, 42, 7])
    assert.deepEqual(judgeRollback({ rollback_from, release_name: 'any' }, [NEW], unknown), {
      kind: 'start',
      from: null,
    })
})

test('messages stay short on many servers', () => {
  const names = Array.from({ length: 9 }, (_, index) => `web-${index + 1}`)
  const many = Array.from({ length: 8 }, (_, index) => live(`r${index + 1}`, [index + 1], ...names))
  const [, reason] = problemOf({}, many)
  assert.match(reason!, /r1 on web-1, web-2, web-3, web-4, web-5, 4 more; .*r5 on [^;]*; 3 more\. Name/)
})

test('servers where nothing is live have nothing to roll back', () => {
  assert.deepEqual(problemOf({}, []), [
    'conflict',
    'The servers have no live release, so there is nothing to roll back.',
  ])
})
