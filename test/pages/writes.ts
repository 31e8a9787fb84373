// Which tests of the pages perform which writing operations of the API. `assertWrites` proves it for each file, and
// writes.browser.ts that no operation is missing.
import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'

/** By file, the ids of the operations that its browser performs with success. */
export const WRITES: Record<string, readonly string[]> = {
  'first-run.browser.ts': ['apply', 'removeOrganization', 'runPipeline', 'createInvitation'],
  'account-pages.browser.ts': [
    ...['openSession', 'closeSession', 'changeMe', 'changePassword', 'endSession', 'endAllSessions'],
    ...['createPersonalAccessToken', 'revokePersonalAccessToken', 'createLoginAuthorization'],
    ...['lookUpDevice', 'approveDevice', 'denyDevice'],
    ...['readInvitation', 'acceptInvitation', 'readPasswordReset', 'resetPassword'],
  ],
  'single-sign-on-pages.browser.ts': ['beginSingleSignOn', 'linkIdentity', 'unlinkIdentity'],
  'people.browser.ts': [
    ...['createInvitation', 'removeInvitation', 'changeMember', 'removeMember'],
    ...['createRole', 'changeRole', 'removeRole', 'changeUser', 'createPasswordReset'],
  ],
  'settings.browser.ts': [
    ...['createOrganization', 'changeOrganization', 'removeOrganization'],
    ...['createProject', 'changeProject', 'removeProject'],
    ...['createEnvironment', 'changeEnvironment', 'removeEnvironment'],
    ...['archiveEnvironment', 'unarchiveEnvironment'],
    ...['createCredential', 'changeCredential', 'removeCredential', 'checkCredential'],
  ],
  'inventory.browser.ts': [
    ...['createServer', 'changeServer', 'removeServer', 'checkServer', 'tryHealthCheck'],
    ...['createApplication', 'changeApplication', 'removeApplication', 'inspectRepository'],
    ...['linkApplicationToServer', 'unlinkApplicationFromServer'],
    ...['linkServerToApplication', 'unlinkServerFromApplication'],
    ...['createVariable', 'changeVariable', 'removeVariable'],
  ],
  'incoming-hooks.browser.ts': [
    'createIncomingHook',
    'changeIncomingHook',
    'removeIncomingHook',
    'rotateIncomingHookSecret',
    'dryRunHook',
    'replayHookRequest',
    ...['connectIncomingHook', 'checkIncomingHookConnection', 'disconnectIncomingHook'],
  ],
  'outgoing-hooks.browser.ts': [
    ...['createOutgoingHook', 'changeOutgoingHook', 'removeOutgoingHook', 'rotateOutgoingHookSecret'],
    ...['previewDelivery', 'testHook', 'redeliver', 'replayHookRequest', 'ejectOutgoingHook'],
  ],
  'pipelines.browser.ts': [
    ...['createApplicationPipeline', 'createServerPipeline', 'changePipeline', 'removePipeline'],
    ...['createStep', 'changeStep', 'removeStep', 'planPipeline'],
  ],
  'gates.browser.ts': [
    ...['approveAction', 'rejectAction', 'overrideGate', 'changeEnvironment'],
    ...['createOrganizationFreeze', 'createEnvironmentFreeze', 'changeFreeze', 'removeFreeze'],
  ],
  'runs.browser.ts': ['runPipeline', 'planPipeline', 'cancelAction', 'retryAction', 'replayHookRequest'],
}

/** Operations that are not for people in a browser. */
export const EXCEPTED: Record<string, string> = {
  callHook: 'Called by other services, not by people.',
  logIn: 'The pages sign in with a session cookie (openSession).',
  refreshToken: 'The pages have a session cookie, not tokens.',
  logOut: 'The pages end their session with closeSession.',
  drainWorker: 'Done by those who stop the machine, with the command line.',
  undrainWorker: 'The same.',
  exchangeLoginAuthorization: 'Called by the command line after a person approved its login.',
  createDeviceCode: 'Called by the command line on a machine without a browser.',
  takeDeviceToken: 'The same, until a person has approved.',
}

const performed = new WeakMap<Browser, Set<string>>()

/** Remembers each change that the page requests and the API accepts, as `POST /servers/12/check`. */
export function recordWrites(browser: Browser, page: Page): void {
  const writes = performed.get(browser) ?? new Set()
  performed.set(browser, writes)
  page.on('response', (response) => {
    const method = response.request().method()
    if (!WRITING.includes(method.toLowerCase()) || response.status() >= 400) return
    writes.add(`${method} ${new URL(response.url()).pathname}`)
  })
}

type Document = { paths: Record<string, Record<string, { operationId?: string }>> }
type Operation = { id: string; pattern: RegExp; placeholders: number }

const WRITING = ['post', 'put', 'patch', 'delete']

/** The writing operations of the OpenAPI document, and what their requests look like. The most specific come first. */
export async function writingOperations(url: string): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId: id }]): Operation[] => {
      if (!WRITING.includes(method) || id === undefined) return []
      const source = path.replaceAll(/\{\w+\}/g, '[^/]+')
      const placeholders = path.split('{').length
      return [{ id, pattern: new RegExp(`^${method.toUpperCase()} ${source}$`), placeholders }]
    }),
  )
  return operations.sort((one, other) => one.placeholders - other.placeholders)
}

/** The last test of a file: its browser did what WRITES says. */
export async function assertWrites(world: { url: string; browser: Browser }, file: string): Promise<void> {
  const operations = await writingOperations(world.url)
  const done = new Set(
    [...(performed.get(world.browser) ?? [])].map(
      (write) => operations.find(({ pattern }) => pattern.test(write))?.id,
    ),
  )
  const listed = WRITES[file]
  assert.ok(listed, `${file} is not listed in writes.ts`)
  assert.deepEqual(
    listed.filter((id) => !done.has(id)),
    [],
    `${file} does not perform these operations, although writes.ts says so`,
  )
}
