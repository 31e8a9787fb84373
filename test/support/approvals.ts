// Shared by tests of approvals: a tree whose runs need approval, people who decide, and what workers do, pass by pass.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { prepareDue } from '#engine/gates/approval-loop.ts'
import { expireDue } from '#engine/gates/expire-approvals.ts'
import { makeDuePasses } from '#engine/gates/release-loop.ts'
import type { TargetJob } from '#engine/scheduling/assign-slots.ts'
import { createScheduler, scheduleEnvironment } from '#engine/scheduling/schedule-new.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { assertStarted, withVariables } from './calls.ts'
import { later } from './later.ts'
import { makeRepository, type TestRepository } from './repository.ts'
import { commitOf, openRuns, started } from './runs.ts'
import { createAction, createMember, createTestTree, type Person, type TestTree } from './world.ts'

export const ASKED = 'waiting/WAITING_APPROVAL at approval'
export const QUEUED = 'queued/QUEUED with a slot'
export const BUSY = 'waiting/WAITING_CONCURRENCY_PIPELINE'

export const tip = (repository: TestRepository) => repository.git(['rev-parse', 'refs/heads/main'])

type By = { token?: string }

export type Approvals = Awaited<ReturnType<typeof openApprovals>>

export async function openApprovals(t: { after(fn: () => Promise<void>): void }) {
  const runs = await openRuns(t)
  const { api, db, makeHook, call, run } = runs
  const { box } = api

  const folder = await mkdtemp(join(tmpdir(), 'gantry-approvals-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  const repositories = createRepositories({ folder, allowRemote: async () => ({ kind: 'allowed' }) })

  const queued: number[] = []
  const enqueueTargets = async (_: Transaction, targets: TargetJob[]) => {
    queued.push(...targets.map(({ targetId }) => targetId))
  }
  const schedule = createScheduler(db, enqueueTargets)
  const onError = (error: Error) => assert.fail(error)
  const loop = { db, box, repositories, enqueueTargets, onError }
  const prepare = () => prepareDue(loop, new AbortController().signal)
  const expire = () => expireDue(loop)
  const release = () => makeDuePasses(loop)
  const pass = (at: TestTree) =>
    scheduleEnvironment(db, at.environmentId, { pipelineIds: [at.pipelineId] }, enqueueTargets)

  const setApproval = (at: TestTree, approval: object | null, by: By = {}) =>
    api.request('PUT', `/environments/${at.environmentId}`, {
      token: at.owner.token,
      body: { approval },
      ...by,
    })

  /** A tree whose application is deployed from a real repository, and whose runs need approval by an administrator. */
  async function openTree(approval: object | null = {}) {
    const at = await createTestTree(db)
    const repository = await makeRepository(t, { files: { 'index.html': 'one' } })
    await db
      .updateTable('applications')
      .set({ repository: repository.address, credential_id: null, default_branch: 'main' })
      .where('id', '=', at.applicationId)
      .execute()
    await sql`update servers set max_parallel_actions = 0 where environment_id = ${at.environmentId}`.execute(
      db,
    )
    const admin = await createMember(db, at, 'admin')
    if (approval !== null) assert.equal((await setApproval(at, approval)).status, 200)
    return { at, repository, admin }
  }

  const approvalOf = async (id: number, by: { token: string }) => {
    const { body } = await api.request('GET', `/actions/${id}/gates`, { token: by.token })
    return body.gates.find(({ gate }: { gate: string }) => gate === 'approval')
  }
  const subjectOf = async (id: number, by: Person) => (await approvalOf(id, by)).details.subject as string

  async function decide(verb: 'approve' | 'reject', id: number, by: Person, more: object = {}) {
    const subject = (await subjectOf(id, by)) ?? 'none'
    return api.request('POST', `/actions/${id}/${verb}`, { token: by.token, body: { subject, ...more } })
  }
  const approve = (id: number, by: Person, more?: object) => decide('approve', id, by, more)
  const reject = (id: number, by: Person, more?: object) => decide('reject', id, by, more)

  /** A run by hand, scheduled and prepared. */
  async function start(at: TestTree, body: object = {}, by: object = {}): Promise<number> {
    const { id } = await started(run(body, { at, ...by }))
    await schedule([id])
    await prepare()
    return id
  }

  async function startByHook(at: TestTree, sent: object = {}): Promise<number> {
    const hook = await makeHook(withVariables({ name: 'branch', required: false }), at)
    const id = assertStarted(await call(hook, sent))
    await schedule([id])
    await prepare()
    return id
  }

  /** What is live on the servers, as another run would have left it. */
  async function goLive(at: TestTree, hash: string | null, serverIds = at.serverIds): Promise<void> {
    const release_name = `${hash?.slice(0, 8)}-${Math.random()}`
    const id = await createAction(db, at, {
      release_name,
      commit: hash && JSON.stringify({ ...commitOf('a'), hash }),
    })
    for (const server of serverIds)
      await sql`
      insert into live_releases (application_id, server_id, action_id, release_name, commit_sha)
      values (${at.applicationId}, ${server}, ${id}, ${release_name}, ${hash})
      on conflict (application_id, server_id) do update
      set action_id = excluded.action_id, release_name = excluded.release_name, commit_sha = excluded.commit_sha`.execute(
        db,
      )
  }

  return {
    ...runs,
    box,
    repositories,
    mirrors: folder,
    loop,
    schedule,
    prepare,
    expire,
    release,
    pass,
    setApproval,
    openTree,
    approvalOf,
    subjectOf,
    approve,
    reject,
    start,
    startByHook,
    goLive,
  }
}
