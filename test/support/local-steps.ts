// A whole Gantry with its own home, as root or under an ordinary account, and steps that run on its local server.
import assert from 'node:assert/strict'
import { chown } from 'node:fs/promises'
import { checkoutForEveryone, ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import {
  ADMIN_ENVIRONMENT,
  call,
  type GantryProcess,
  logInAsAdmin,
  startGantry,
  temporaryHome,
} from './process.ts'
import { until } from './until.ts'

export type Ran = { status: string; reason: string; output: string }

type Closer = Parameters<typeof startGantry>[0]

export type LocalGantry = Awaited<ReturnType<typeof openLocalGantry>>

/** `wrapper`: what an ordinary account's Gantry is started by. */
export async function openLocalGantry(
  t: Closer,
  account: 'root' | 'ordinary',
  more: { wrapper?: string[]; environment?: Record<string, string>; home?: string } = {},
) {
  const { wrapper = [], environment = {} } = more
  const home = more.home ?? (await temporaryHome(t))
  const as =
    account === 'root' ? undefined : { ...ordinaryUser, checkout: await checkoutForEveryone(), wrapper }
  if (as) await chown(home, as.uid, as.gid)
  const gantry = await startGantry(t, { GANTRY_HOME: home, ...ADMIN_ENVIRONMENT, ...environment }, as)
  const token = await logInAsAdmin(gantry)
  const ask = (method: string, path: string, body?: unknown) => call(gantry, method, path, { token, body })

  async function saved(path: string, body: unknown): Promise<number> {
    const answer = await ask('POST', path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body.id
  }

  /** A server in the sample's environment with a pipeline of one step, whose command each run sets. */
  async function addServer(name: string, rootDirectory: string) {
    const local = { name, provider_code: 'local', root_directory: rootDirectory }
    const serverId = await saved('/environments/1/servers', local)
    const pipeline = await saved(`/pipelines/server/${serverId}`, {
      name: `On ${serverId}`,
      operation: 'custom',
    })
    const step = await saved(`/pipelines/${pipeline}/steps`, {
      name: 'attack',
      command: 'true',
      timeout_seconds: 30,
    })
    return async (command: string, runAsUser: string | null = null): Promise<Ran> => {
      const changed = await ask('PUT', `/pipelines/${pipeline}/steps/${step}`, {
        command,
        run_as_user: runAsUser,
      })
      assert.equal(changed.status, 200, JSON.stringify(changed.body))
      return ended(gantry, token, await saved(`/pipelines/${pipeline}/actions`, {}))
    }
  }

  const checkout = as?.checkout ?? process.cwd()
  return { gantry, home, checkout, ask, addServer, ended: (id: number) => ended(gantry, token, id) }
}

async function ended(gantry: GantryProcess, token: string, id: number): Promise<Ran> {
  const read = async (path: string) => (await call(gantry, 'GET', path, { token })).body
  const isOver = async () => ['completed', 'failed'].includes((await read(`/actions/${id}`)).status)
  await until('the run ends', 60_000, isOver)
  const action = await read(`/actions/${id}`)
  const { body } = await call(gantry, 'GET', `/actions/${id}/targets/${action.targets[0].id}/steps/1/logs`, {
    token,
  })
  return { status: action.status, reason: action.targets[0].status_reason_code, output: body.step.output }
}
