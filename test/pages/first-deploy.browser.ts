// From an empty installation to a deployed push, with nothing but the browser and one signed call.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { appendFile, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { Webhooks } from '@octokit/webhooks'
import { ADMIN, ADMIN_ENVIRONMENT, startGantry, temporaryHome } from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'
import { startSshd } from '#test/support/sshd.ts'
import { nameOf } from '#web/resources/applications/application-input.ts'
import { openBrowser } from './browser.ts'
import { focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { openPage, signIn } from './world.ts'

/** An empty installation, a server to deploy to, a repository, and a browser. */
async function openWorld(t: TestContext) {
  const environment = { ...ADMIN_ENVIRONMENT, GANTRY_HOME: await temporaryHome(t), GANTRY_SAMPLE: 'false' }
  const [{ url }, sshd, repository] = await Promise.all([
    startGantry(t, environment),
    startSshd(t),
    makeRepository(t, { files: { 'index.html': 'First version', 'build.sh': 'echo built >built.txt' } }),
  ])
  const account = sshd.accounts[0]!
  const root = join(account.home, `apps-${randomUUID()}`)
  t.after(() => rm(root, { recursive: true, force: true }))
  const browser = await openBrowser()
  t.after(() => browser.close())
  const opened = await openPage({ url: url!, browser }, '/app', null)
  return { ...opened, sshd, repository, account, root }
}

it('a new user gets from an empty installation to a deployed push in the browser', async (t) => {
  const { page, errors, sshd, repository, account, root } = await openWorld(t)
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const enter = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  await signIn(page, ADMIN)
  await page.getByText('0 of 5 done').waitFor()
  await page.getByRole('link', { name: 'Add your first application' }).click()
  await press('Continue')

  await enter('Repository', `${repository.address}-with-a-typo`)
  await press('Inspect')
  const unreadable = page.getByText('Gantry cannot read this repository')
  await unreadable.waitFor()
  await enter('Repository', repository.address)
  await unreadable.waitFor({ state: 'detached' })
  await press('Inspect')
  await page.getByText('Repository found').waitFor()
  await press('Continue')

  await enter('Name', 'web-1')
  await enter('Host', `${account.name}@127.0.0.1:${sshd.port}`)
  await press('Generate key')
  await page.getByLabel('Public key', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Host', { exact: true }).inputValue(), '127.0.0.1')
  assert.equal(await page.getByLabel('Login', { exact: true }).inputValue(), account.name)
  await enter('Root directory', 'apps')
  await press('Add server')
  const rejected = page.getByText(/^Must be an absolute path/)
  await rejected.waitFor()
  await enter('Root directory', root)
  await rejected.waitFor({ state: 'detached' })
  await press('Add server')
  await page.getByText('Gantry cannot deploy to this server yet.').waitFor()
  const publicKey = await page.getByLabel('Public key', { exact: true }).inputValue()
  const command = await page.getByLabel('Command', { exact: true }).inputValue()
  assert.ok(command.includes(`echo '${publicKey}' >> ~/.ssh/authorized_keys`), command)
  await looksRight(page, 'a server that rejects the key')
  await appendFile(sshd.authorizedKeys, `${publicKey}\n`)
  await press('Test again')
  await page.getByText('Gantry can deploy to this server.').waitFor()
  await page.getByText(/^Host key SHA256:/).waitFor()
  await press('Pin this host key')
  await page.getByText(/^Host key SHA256:.*, pinned$/).waitFor()
  await press('Continue')

  await page.getByLabel('Health check', { exact: true }).selectOption('TCP connection')
  await enter('Port', String(sshd.port))
  await press('Try it now')
  await page.getByText(/: Port \d+ is open\. It took \d+ ms\.$/).waitFor()
  await looksRight(page, 'a health check that was tried')
  await page.getByLabel('Health check', { exact: true }).selectOption('Command')
  await page.getByText('you can try it after the first deploy').waitFor()
  await enter('Check command', 'test -f index.html')
  await press('Continue')

  assert.equal(
    await page.getByLabel('Name', { exact: true }).inputValue(),
    nameOf(repository.address),
    'the name of the corrected repository',
  )
  await page.getByText('Checks that the new release is healthy').waitFor()
  await page.getByLabel('Build command').fill('sh build.sh')
  await page.getByText('Copies main into a new folder').waitFor()
  await press('Create application and pipeline')

  await page.getByRole('button', { name: /^GitHub/ }).click()
  await press('Create hook')
  const hookUrl = await page.getByLabel('URL', { exact: true }).inputValue()
  const secret = await page.getByLabel('Secret', { exact: true }).inputValue()
  await page.getByText('Waiting for the first call…').waitFor()

  const after = await repository.commit({ 'index.html': 'Second version' }, { message: 'Sell more' })
  const push = JSON.stringify({ ref: 'refs/heads/main', after })
  const response = await fetch(hookUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': await new Webhooks({ secret }).sign(push),
    },
    body: push,
  })
  assert.equal(response.status, 202)
  await page.getByText('First call received').waitFor()
  await page.getByRole('link', { name: /^Run #/ }).click()
  await page.getByText('All targets completed.').waitFor()
  assert.equal(await readFile(join(root, 'shop/current/index.html'), 'utf8'), 'Second version')
  assert.equal(await readFile(join(root, 'shop/current/built.txt'), 'utf8'), 'built\n')

  await page.getByRole('link', { name: 'Overview' }).first().click()
  await page.getByText('Nothing is running').waitFor()
  assert.equal(await page.getByText('Deploy on push, in five steps').count(), 0, 'the checklist is complete')
  assert.deepEqual(errors, [])
})

it('by keyboard alone, a new user deploys a first application', async (t) => {
  const { page, errors, sshd, repository, account, root } = await openWorld(t)
  const press = async (name: string | RegExp) => {
    await tabTo(page, name)
    await page.keyboard.press('Enter')
  }
  const enter = async (label: RegExp, text: string) => {
    await tabTo(page, label)
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type(text)
  }
  await enter(/^Email/, ADMIN.email)
  await enter(/^Password/, ADMIN.password)
  await page.keyboard.press('Enter')
  await page.getByText('0 of 5 done').waitFor()
  await press('Add your first application')
  await page.getByRole('button', { name: 'Continue', exact: true }).waitFor()
  await press('Continue')

  await page.getByLabel('Repository', { exact: true }).waitFor()
  await enter(/^Repository/, repository.address)
  await press('Inspect')
  await page.getByText('Repository found').waitFor()
  await press('Continue')

  await page.getByLabel('Host', { exact: true }).waitFor()
  await enter(/^Name/, 'web-1')
  await enter(/^Host/, `${account.name}@127.0.0.1:${sshd.port}`)
  await press('Generate key')
  const publicKey = page.getByLabel('Public key', { exact: true })
  await publicKey.waitFor()
  await appendFile(sshd.authorizedKeys, `${await publicKey.inputValue()}\n`)
  await enter(/^Root directory/, root)
  await press('Add server')
  await page.getByText('Gantry can deploy to this server.').waitFor()
  await press('Continue')

  await page.getByLabel('Health check', { exact: true }).waitFor()
  await press('Continue')
  await page.getByRole('button', { name: 'Create application and pipeline' }).waitFor()
  await press('Create application and pipeline')
  await page.getByRole('button', { name: /^GitHub/ }).waitFor()
  await press(/^GitHub/)
  await page.getByRole('button', { name: 'Create hook' }).waitFor()
  await press('Create hook')
  await page.getByText('Waiting for the first call…').waitFor()

  await press('Overview')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await press(/^Applications/)
  await page.getByRole('heading', { name: 'Applications', exact: true }).waitFor()
  const application = nameOf(repository.address)
  await page.getByRole('link', { name: application, exact: true }).waitFor()
  await press(application)
  await page.getByRole('heading', { name: application, exact: true }).waitFor()
  await page.getByRole('button', { name: 'Deploy', exact: true }).waitFor()
  await press('Deploy')
  await focusMovesTo(page, /^Branch/)
  await press('Deploy')
  await page.getByText('All targets completed.').waitFor()
  assert.equal(await readFile(join(root, 'shop/current/index.html'), 'utf8'), 'First version')
  assert.deepEqual(errors, [])
})
