// The page that `gantry login` opens, with a real command line's end: a listener on a loopback port.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { browserThatNotes } from '#test/support/browser-login.ts'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { later } from '#test/support/later.ts'
import { openTerminal } from '#test/support/terminal.ts'
import { until } from '#test/support/until.ts'
import type { AccountsWorld } from './accounts-world.ts'
import { freePort, openPage, signIn } from './world.ts'

/** What `gantry login` does: it listens, and opens `path` in the browser. */
export async function startLogin(t: TestContext, name: string, { answer = 200, body = 'Signed in.' } = {}) {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  let received: URLSearchParams | undefined
  const listener = createServer((request, response) => {
    const url = new URL(request.url!, 'http://127.0.0.1')
    if (url.pathname === '/callback') received = url.searchParams
    response.writeHead(answer, { 'content-type': 'text/html' }).end(answer === 204 ? undefined : body)
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const redirect_uri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`
  const path = pathOf({
    redirect_uri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    name,
  })
  const stop = () => new Promise<void>((closed) => void listener.close(() => closed()).closeAllConnections())
  later(t, stop)
  const callback = () => until('the browser came back', 20_000, async () => received)
  return {
    path,
    state,
    origin: new URL(redirect_uri).origin,
    /** The query that the browser brought. */
    callback,
    /** Trades the code; the answer of the API. */
    async finish({ callAs }: Pick<AccountsWorld, 'callAs'>) {
      const query = await callback()
      assert.deepEqual([...query.keys()].sort(), ['code', 'state'])
      assert.equal(query.get('state'), state)
      const body = { code: query.get('code'), code_verifier: verifier, redirect_uri }
      return callAs(undefined, 'POST', '/session/authorizations/token', body)
    },
    stop,
  }
}

const pathOf = (query: Record<string, string>) => `/app/authorize?${new URLSearchParams(query)}`

export function testAuthorizePage(theWorld: () => AccountsWorld): void {
  it('signs in `gantry login` at a real terminal', async (t) => {
    const { createPerson, url } = theWorld()
    const person = await createPerson('Tess Terminal')
    const { env } = await openShell(t)
    const browser = await browserThatNotes(t)
    const command = [USERS_NODE, CLI, 'login', url]
    const terminal = await openTerminal(t, command, { env: { ...env, BROWSER: browser.program } })
    const address = await browser.opened()
    const { page, errors, close } = await openPage(theWorld(), address.slice(url.length), person)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('return to the terminal').waitFor()
    assert.equal(await terminal.ended, 0)
    await terminal.sees(`Signed in to ${url} as ${person.email}.`)
    assert.deepEqual(errors, [])
    await close()
  })

  it('shows who, where and what, and gives the command line a token; Back says how to go on', async (t) => {
    const { createPerson, callAs, url, log } = theWorld()
    const person = await createPerson('Ada Approver')
    const login = await startLogin(t, '<b>Ada’s</b> laptop 100% & co')
    const { page, errors, close } = await openPage(theWorld(), login.path, person)
    const text = page.getByRole('main')
    await text.getByText('Ada Approver').waitFor()
    for (const shown of [person.email, url, '<b>Ada’s</b> laptop 100% & co', '90 days', 'gantry logout'])
      await text.getByText(shown).first().waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    const { status, body } = await login.finish(theWorld())
    assert.deepEqual(
      [status, body.name, body.user.email],
      [201, 'gantry on <b>Ada’s</b> laptop 100% & co', person.email],
    )
    assert.equal((await callAs(body.token, 'GET', '/users/me')).body.email, person.email)
    await page.getByText('Signed in.').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Login approved' }).waitFor()
    assert.equal(page.url(), `${url}/app/authorize`)
    await page.reload()
    await page.getByText('Return to your terminal').waitFor()
    const code = (await login.callback()).get('code')!
    assert.ok(!log.some((line) => line.includes(code) || line.includes(body.token)))
    assert.deepEqual(errors, [])
    await close()
  })

  it('stays and says that the terminal goes on when the command line answers without a page', async (t) => {
    const person = await theWorld().createPerson('Nora Content')
    const login = await startLogin(t, 'laptop', { answer: 204 })
    const { page, close } = await openPage(theWorld(), login.path, person)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Login approved' }).waitFor()
    assert.equal((await login.finish(theWorld())).status, 201)
    await close()
  })

  it('brings a denial to the command line, and no code', async (t) => {
    const person = await theWorld().createPerson('Dan Denier')
    const login = await startLogin(t, 'laptop')
    const { page, errors, close } = await openPage(theWorld(), login.path, person)
    await page.getByRole('button', { name: 'Deny' }).click()
    const query = Object.fromEntries(await login.callback())
    assert.deepEqual(query, { error: 'access_denied', state: login.state })
    await page.goBack()
    await page.getByRole('heading', { name: 'Login denied' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('lets people sign in first, and choose another account', async (t) => {
    const { createPerson } = theWorld()
    const [first, second] = [await createPerson('Fay First'), await createPerson('Sid Second')]
    const login = await startLogin(t, 'Sid’s laptop, 50%')
    const { page, errors, close } = await openPage(theWorld(), login.path, null)
    await signIn(page, first)
    await page.getByText('Fay First').waitFor()
    await page.getByRole('button', { name: 'Use a different account' }).click()
    await signIn(page, second)
    await page.getByText('Sid Second').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    const { body } = await login.finish(theWorld())
    assert.deepEqual([body.user.email, body.name], [second.email, 'gantry on Sid’s laptop, 50%'])
    assert.deepEqual(errors, [])
    await close()
  })

  it('asks people to sign in again when their session ended meanwhile', async (t) => {
    const person = await theWorld().createPerson('Eve Ended')
    const login = await startLogin(t, 'laptop')
    const { page, close } = await openPage(theWorld(), login.path, null)
    await signIn(page, person)
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Approve' }).click()
    await signIn(page, person)
    await page.getByRole('button', { name: 'Approve' }).click()
    assert.equal((await login.finish(theWorld())).status, 201)
    await close()
  })

  it('refuses a request that leads elsewhere or is incomplete, with nothing to click', async (t) => {
    const { createPerson, url } = theWorld()
    const person = await createPerson('Wanda Wrong')
    const login = await startLogin(t, 'laptop')
    const { page, errors, close } = await openPage(theWorld(), '/app/authorize', person)
    for (const change of [
      'redirect_uri=http://localhost:8400/callback',
      'code_challenge=x',
      'name=',
      'state=',
    ]) {
      const [name, value] = change.split('=') as [string, string]
      const search = new URLSearchParams(login.path.split('?')[1])
      search.set(name, value)
      await page.goto(`/app/authorize?${search}`)
      await page.getByRole('heading', { name: 'This login request is not valid' }).waitFor()
      await page.getByRole('alert').getByText(`${name} must`).waitFor()
      assert.equal(await page.getByRole('button').count(), 0)
    }
    assert.ok(page.url().startsWith(url))
    assert.deepEqual(errors, [])
    await close()
  })

  it('says what to do when the command line is gone', async (t) => {
    const person = await theWorld().createPerson('Gina Gone')
    const login = await startLogin(t, 'laptop')
    const { page, close } = await openPage(theWorld(), login.path, person)
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await login.stop()
    const failed = page.waitForEvent('requestfailed')
    await page.getByRole('button', { name: 'Approve' }).click()
    assert.ok((await failed).url().startsWith(login.origin))
    await page.waitForURL(/^chrome-error:/)
    await page.goBack()
    await page.getByText('is no longer waiting for an answer').waitFor()
    await close()
  })

  it('cannot be framed by another page', async (t) => {
    const { createPerson, url } = theWorld()
    const person = await createPerson('Fred Framed')
    const target = await startLogin(t, 'laptop')
    const body = `<iframe src="${url}${target.path}"></iframe><p>Another site</p>`
    const site = await startLogin(t, 'site', { body })
    const { page, close } = await openPage(theWorld(), '/app/authorize', person)
    await page.goto(`${site.origin}/`)
    const frame = page.frames()[1]!
    await frame.waitForURL(/^chrome-error:/)
    assert.equal(await frame.getByRole('button').count(), 0)
    await close()
  })
}

/** A valid request for which nothing listens. */
export async function unansweredRequest(name: string): Promise<string> {
  const redirect_uri = `http://127.0.0.1:${await freePort()}/callback`
  return pathOf({ redirect_uri, state: 'state', code_challenge: 'x'.repeat(43), name })
}
