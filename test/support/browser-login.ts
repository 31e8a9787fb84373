// Both ends of `gantry login` outside of the terminal: a browser that notes what it is asked to open, and the approval.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { later } from './later.ts'
import { ADMIN } from './process.ts'
import { until } from './until.ts'

/** A program for $BROWSER. */
export async function browserThatNotes(t: { after(fn: () => Promise<void>): void }) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-browser-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  const [program, note] = [join(folder, 'browser'), join(folder, 'opened')]
  const script = `#!/bin/sh\nprintf %s "$1" > '${note}.part' && mv '${note}.part' '${note}'\n`
  await writeFile(program, script, { mode: 0o755 })
  return {
    program,
    /** The address that it was asked to open. */
    opened: () => until('a browser is opened', 30_000, () => readFile(note, 'utf8').catch(() => undefined)),
  }
}

export type Login = { email: string; password: string }

/** What the page does when somebody signs in and approves; test/pages has the page itself. */
export async function approveLogin(url: string, address: string, login: Login = ADMIN): Promise<void> {
  const { redirect_uri, state, code_challenge, name } = Object.fromEntries(new URL(address).searchParams)
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { 'content-type': 'application/json', 'x-gantry-request': '1', origin: url, cookie }
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
    return answer
  }
  const cookie = (await post('/session', login)).headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const approved = await post('/session/authorizations', { redirect_uri, code_challenge, name }, cookie)
  const { code } = (await approved.json()) as { code: string }
  await fetch(`${redirect_uri}?${new URLSearchParams({ code, state: state! })}`)
}
