// Helpers for tests of presets: hooks as docs/guides/notifications.md creates them, at a stand-in for their service.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { SKIPPED, type State } from '#model/actions/status.ts'
import type { Preset, PresetKind } from '#model/hooks/presets/schema.ts'
import { COMPLETED, FAILED, IN_PROGRESS, type openDeliveries } from './deliveries.ts'
import { createTestTree, type TestTree } from './world.ts'

type World = Awaited<ReturnType<typeof openDeliveries>>

const guide = await readFile(new URL('../../docs/guides/notifications.md', import.meta.url), 'utf8')
const CREATION = /^api \/pipelines\/1\/hooks\/outgoing -d @- <<'JSON'\n(\{\n.*?\n\})\nJSON$/gms
const inGuide = new Map(
  [...guide.matchAll(CREATION)].map(([, json]) => {
    const { settings } = JSON.parse(json!)
    return [settings.preset.kind as PresetKind, settings.preset as Preset]
  }),
)

/** The preset of the guide's example. */
export function presetOf(kind: PresetKind): Preset {
  const preset = inGuide.get(kind)
  assert.ok(preset, `the guide has no example for ${kind}`)
  return preset
}

/** What runs go through after they are queued. */
export const RUNS = {
  completed: [IN_PROGRESS, COMPLETED],
  failed: [IN_PROGRESS, FAILED],
  canceled: [IN_PROGRESS, { status: 'failed', reason: 'FAILED_CANCELLED' }],
  skipped: [SKIPPED],
} satisfies Record<string, State[]>

export const permalink = (actionId: number) => `http://gantry.test/app/actions/${actionId}`

let commits = 0
/** A commit that no other run has. */
export const newCommit = () => (++commits).toString(16).padStart(40, 'c')

/** A hook with this preset, and a credential for the service at `url`. */
export async function openPreset(
  { db, request, makeHook }: Pick<World, 'db' | 'request' | 'makeHook'>,
  { url }: { url: string },
  preset: Preset,
  options: { tree?: TestTree; token?: string } = {},
) {
  const { tree = await createTestTree(db), token = `token-of-${preset.kind}` } = options
  // The repository of a test tree is at github.com.
  const known = preset.kind.endsWith('_message') ? {} : { ssh_hosts: ['github.com', 'gitlab.com'] }
  const credential = await request('POST', `/organizations/${tree.organizationId}/credentials`, {
    token: tree.owner.token,
    body: { name: preset.kind, provider_code: preset.kind.split('_')[0], base_url: url, token, ...known },
  })
  assert.equal(credential.status, 201, credential.text)
  const credentialId: number = credential.body.id
  const hook = await makeHook({ credential_id: credentialId, settings: { preset } }, tree)
  return { tree, hook, credentialId, token }
}
