// What people and circumstances do to forms: a session that ends, a second press, somebody else who was faster.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import { focusMovesTo } from './keyboard.ts'
import { isDisabledWithReason, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'

const LOCAL_SERVER = { provider_code: 'local', root_directory: '/srv/forms' }

describe('forms', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => void ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const create = async (path: string, body: unknown) => (await world.api('POST', path, body)).body

  it('sign-in is above an open dialog, which keeps what was typed', async () => {
    const editor = await world.invite('editor@example.com', { name: 'Edith Editor', role: 'admin' })
    const { page, errors, close } = await openPage(world, '/app/servers', editor)
    const dialog = await openServerDialog(page)
    await page.context().clearCookies()
    // What the page loads in the meantime may have brought the sign-in above the button already.
    await dialog.getByRole('button', { name: 'Add server' }).dispatchEvent('click')
    const signIn = page.getByRole('dialog', { name: 'Your session has ended' })
    const password = signIn.getByLabel('Password', { exact: true })
    await password.waitFor()
    await page.keyboard.press('Escape')
    await password.fill(editor.password)
    await password.press('Enter')
    await signIn.waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('dialog').count(), 1, 'Escape did nothing')
    await hasServer(dialog)
    await dialog.getByText('Your session had ended').waitFor()
    assert.deepEqual(errors, [])

    // Somebody else signs in: nothing of it is left.
    await page.context().clearCookies()
    await page.evaluate(`document.querySelector('[role=dialog] form').requestSubmit()`)
    await signIn.getByLabel('Email').fill(world.viewer.email)
    await signIn.getByLabel('Password', { exact: true }).fill(world.viewer.password)
    await signIn.getByRole('button', { name: 'Sign in' }).click()
    await signIn.waitFor({ state: 'detached' })
    assert.equal(await dialog.count(), 0)
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify({ ...sessionStorage })'), /web-7/)
    await close()
  })

  it('what opens below the sign-in does not take the focus from it', async () => {
    const editor = await world.invite('typing@example.com', { role: 'admin' })
    const { page, close } = await openPage(world, '/app/servers', editor)
    const dialog = await openServerDialog(page)
    await page.context().clearCookies()
    await dialog.getByRole('button', { name: 'Add server' }).dispatchEvent('click')
    const signIn = page.getByRole('dialog', { name: 'Your session has ended' })
    const password = signIn.getByLabel('Password', { exact: true })
    await password.pressSequentially(editor.password.slice(0, 5))
    await page.evaluate(RECORD_FOCUS)
    // A click before the sign-in was there leads to a question whose code is loaded only then.
    await page.getByRole('link', { name: 'Overview' }).dispatchEvent('click')
    await until('the question wants the focus', 20_000, () =>
      page.evaluate<boolean>(`focused.includes('Discard changes')`),
    )
    await page.keyboard.type(editor.password.slice(5))
    assert.equal(await password.inputValue(), editor.password)
    await page.keyboard.press('Enter')
    await signIn.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Keep editing' }).click()
    await hasServer(dialog)
    await close()
  })

  it('a response from before the sign-in does not end the session again', async () => {
    const editor = await world.invite('late@example.com', { role: 'admin' })
    const { page, close } = await openPage(world, '/app/servers', editor)
    const dialog = await openServerDialog(page)
    const isSignedIn = Promise.withResolvers<void>()
    const isRejected = Promise.withResolvers<void>()
    await page.route('**/environments/*/servers', async (route) => {
      const response = await route.fetch()
      isRejected.resolve()
      await isSignedIn.promise
      await route.fulfill({ response })
    })
    await page.context().clearCookies()
    await dialog.getByRole('button', { name: 'Add server' }).click()
    await isRejected.promise
    // As after a change in another tab.
    await page.evaluate(`new BroadcastChannel('gantry-changes').postMessage('changed')`)
    const signIn = page.getByRole('dialog', { name: 'Your session has ended' })
    await signIn.getByLabel('Password', { exact: true }).fill(editor.password)
    await signIn.getByRole('button', { name: 'Sign in' }).click()
    await signIn.waitFor({ state: 'detached' })
    isSignedIn.resolve()
    await dialog.getByText('Your session had ended').waitFor()
    assert.equal(await signIn.count(), 0)
    await hasServer(dialog)
    await close()
  })

  it('Escape closes only what is on top', async () => {
    const { page, close } = await openPage(world, '/app/servers')
    const dialog = await openDialog(page, 'Add server')
    await page.keyboard.press('ControlOrMeta+k')
    // Opening it moves the focus there.
    await focusMovesTo(page, 'Search and commands')
    await page.keyboard.press('Escape')
    await page.getByRole('combobox', { name: 'Search and commands' }).waitFor({ state: 'detached' })
    await dialog.getByLabel('Name').fill('web-8')
    await page.keyboard.press('Escape')
    const question = page.getByRole('dialog', { name: 'Discard unsaved changes?' })
    await focusMovesTo(page, 'Discard changes')
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'web-8')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await question.getByRole('button', { name: 'Discard changes' }).click()
    await dialog.waitFor({ state: 'detached' })
    await close()
  })

  it('is sent once, however often its button is pressed', async () => {
    const { page, close } = await openPage(world, '/app/credentials?organization=1')
    const dialog = await openDialog(page, 'Add credential')
    await dialog.getByLabel('Name').fill('Pressed twice')
    await dialog.getByLabel('Token').first().fill('ghp_0123456789')
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
    // What is added is shown once the list was loaded again.
    let showList = () => {}
    const isShown = new Promise<void>((resolve) => {
      showList = resolve
    })
    await page.route('**/organizations/1/credentials?*', async (route) => {
      await isShown
      await route.continue()
    })
    const isAdded = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.evaluate(`{
      const form = document.querySelector('[role=dialog] form')
      form.requestSubmit()
      form.requestSubmit()
    }`)
    await isAdded
    await page.evaluate(`document.querySelector('[role=dialog] form').requestSubmit()`)
    showList()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(sent.length, 1)
    await close()
  })

  it('goes on after it was saved, without a conflict with itself', async () => {
    const hook = await create(`/pipelines/${world.pipelineId}/hooks/incoming`, { name: 'Typed on' })
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    const name = page.getByLabel('Name', { exact: true })
    const save = () => name.press('Enter')
    const isHook = ({ pathname }: URL) => pathname === `/hooks/incoming/${hook.id}`
    await name.fill('First')
    let load = () => {}
    const isTyped = new Promise<void>((resolve) => {
      load = resolve
    })
    await page.route(isHook, async (route) => {
      if (route.request().method() === 'GET') await isTyped
      await route.continue()
    })
    await save()
    await page.getByText('Hook First saved.').waitFor()
    await name.fill('Second')
    const isLoadedAgain = page.waitForResponse((response) => isHook(new URL(response.url())))
    load()
    await isLoadedAgain
    await page.getByRole('heading', { level: 1, name: 'First' }).waitFor()
    await save()
    await page.getByText('Hook Second saved.').waitFor()

    // Somebody else was faster, and what they saved cannot be loaded.
    await page.unroute(isHook)
    await name.fill('Third')
    await world.api('PUT', `/hooks/incoming/${hook.id}`, { name: 'Theirs' })
    const broken = { status: 500, json: { message: 'Broken', code: 'internal' } }
    await page.route(isHook, (route) =>
      route.request().method() === 'GET' ? route.fulfill(broken) : route.continue(),
    )
    await save()
    await page.getByText('It has changed since you read it.').waitFor()
    await page.unroute(isHook)
    await save()
    await page.getByRole('button', { name: 'Take theirs' }).click()
    await page.getByRole('button', { name: 'Take theirs' }).waitFor({ state: 'detached' })
    assert.equal(await name.inputValue(), 'Theirs')
    assert.deepEqual(errors, [])
    await close()
  })

  it('saves over a change of what it does not show', async () => {
    const { id } = await create('/environments/1/servers', { ...LOCAL_SERVER, name: 'Linked meanwhile' })
    const { page, errors, close } = await openPage(world, '/app/applications/1/settings')
    await page.getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Branch').fill('no such branch')
    for (const method of ['PUT', 'DELETE'])
      await world.api(method, `/resource-links/application/1/server/${id}`)
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.locator('[aria-invalid="true"]').first().waitFor()
    await dialog.getByLabel('Branch').fill('trunk')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('trunk', { exact: true }).waitFor()
    assert.deepEqual(
      errors.filter((text) => !/412|422/.test(text)),
      [],
    )
    await close()
  })

  it('two tabs: one shows what the other saves, and both versions when both changed it', async () => {
    const { id } = await create('/environments/1/servers', { ...LOCAL_SERVER, name: 'Tabs' })
    const first = await openPage(world, `/app/servers/${id}`)
    const second = await openPage(world, '/app/servers')
    await second.page.getByRole('link', { name: 'Tabs', exact: true }).waitFor()
    const edit = async (page: Page, name: string) => {
      const dialog = await openDialog(page, 'Edit')
      await dialog.getByLabel('Name').fill(name)
      return dialog
    }
    const save = (page: Page) => page.getByRole('button', { name: 'Save changes' }).click()
    await edit(first.page, 'Tabs two')
    await save(first.page)
    await second.page.getByRole('link', { name: 'Tabs two', exact: true }).click()
    await edit(first.page, 'First')
    const dialog = await edit(second.page, 'Second')
    await save(first.page)
    await first.page.getByText('Server First saved.').waitFor()
    await save(second.page)
    const both = dialog.getByRole('row', { name: /^Name/ })
    await both.waitFor()
    assert.deepEqual(await both.getByRole('cell').allInnerTexts(), ['Second', 'First'])
    await dialog.getByRole('button', { name: 'Take theirs' }).click()
    // What it was when the dialog opened differs from what was taken.
    await dialog.getByLabel('Name').fill('Tabs two')
    await save(second.page)
    await second.page.getByText('Server Tabs two saved.').waitFor()
    assert.equal((await world.api('GET', `/servers/${id}`)).body.name, 'Tabs two')
    assert.deepEqual([...first.errors, ...second.errors], [])
    await first.close()
    await second.close()
  })

  it('a lost permission is named, and what was typed stays', async () => {
    const person = await world.invite('leaving@example.com', { name: 'Lea Leaving', role: 'admin' })
    const { page, close } = await openPage(world, '/app/servers', person)
    const dialog = await openDialog(page, 'Add server')
    await dialog.getByLabel('Name').fill('web-9')
    await dialog.getByLabel('Host').first().fill('web-9.example.com')
    const members: { user_id: number; user: { email: string } }[] = (
      await world.api('GET', '/organizations/1/members')
    ).body
    const { user_id } = members.find(({ user }) => user.email === person.email)!
    await world.api('PUT', `/organizations/1/members/${user_id}`, { grants: [{ role: 'viewer' }] })
    const submit = dialog.getByRole('button', { name: 'Add server' })
    await submit.click()
    await dialog.getByText('Your role does not include server:add.').first().waitFor()
    await until('nothing can be sent anymore', 20_000, () => submit.isDisabled())
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'web-9')
    assert.equal(await dialog.getByLabel('Host').first().inputValue(), 'web-9.example.com')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await isDisabledWithReason(page, 'Add server')
    await close()
  })

  it('a dialog that asks stays open while the connection is lost', async () => {
    const { id } = await create('/environments/1/servers', { ...LOCAL_SERVER, name: 'Cut off' })
    const { page, close } = await openPage(world, `/app/servers/${id}`)
    await page.getByRole('heading', { name: 'Cut off' }).waitFor()
    await isLoaded(page)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Past runs').waitFor()
    const isRemoval = ({ pathname }: URL) => pathname === `/servers/${id}`
    await page.route(isRemoval, (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    )
    await dialog.getByRole('button', { name: 'Remove server' }).click()
    await dialog.getByText('Gantry is unreachable.').waitFor()
    await page.unroute(isRemoval)
    await dialog.getByRole('button', { name: 'Remove server' }).click()
    await page.getByText('Server Cut off removed.').waitFor()
    await close()
  })

  it('the worker of a local server is set, and cleared', async () => {
    const { id } = await create('/environments/1/servers', { ...LOCAL_SERVER, name: 'By a worker' })
    const { page, errors, close } = await openPage(world, `/app/servers/${id}`)
    const workerIs = async (worker: string) => {
      const dialog = await openDialog(page, 'Edit')
      const field = dialog.getByLabel('Worker (optional)')
      if (!(await field.isVisible())) await dialog.getByText('More options').click()
      await field.fill(worker)
      await dialog.getByRole('button', { name: 'Save changes' }).click()
      await dialog.waitFor({ state: 'detached' })
      return (await world.api('GET', `/servers/${id}`)).body.worker_name
    }
    assert.equal(await workerIs('machine-2'), 'machine-2')
    await page.getByText('machine-2').first().waitFor()
    assert.equal(await workerIs(''), null)
    assert.deepEqual(errors, [])
    await close()
  })

  it('what somebody else removed is gone', async () => {
    const { id } = await create('/environments/1/servers', { ...LOCAL_SERVER, name: 'Gone' })
    const { page, close } = await openPage(world, `/app/servers/${id}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByText('Past runs').waitFor()
    await world.api('DELETE', `/servers/${id}`)
    await page.getByRole('button', { name: 'Remove server' }).click()
    await page.getByText('Server Gone did not exist anymore.').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Servers' }).waitFor()
    await close()
  })

  it('Enter saves a credential inside of the form of an application, not the form', async () => {
    const { page, close } = await openPage(world, '/app/applications')
    const dialog = await openDialog(page, 'Add application')
    await dialog.getByRole('textbox', { name: 'Repository' }).fill('https://127.0.0.1:9/acme/private.git')
    await dialog.getByLabel('Name', { exact: true }).fill('private')
    await dialog.getByLabel('Credential').selectOption('Add a credential…')
    const credential = dialog.getByRole('group', { name: 'New credential' })
    await credential.getByLabel('Token').first().fill('ghp_0123456789')
    await credential.getByLabel('Name', { exact: true }).fill('Inside')
    await page.keyboard.press('Enter')
    await credential.waitFor({ state: 'detached' })
    assert.match(await dialog.getByLabel('Credential').locator('option:checked').innerText(), /^Inside/)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await dialog.waitFor({ state: 'detached' })
    await close()
  })

  it('a chosen pipeline stays chosen, and is not searched for', async () => {
    for (const name of ['Restart one', 'Restart two'])
      await create('/pipelines/server/1', { name, operation: 'custom' })
    const { page, close } = await openPage(world, '/app/hooks/new')
    const field = page.getByRole('combobox', { name: 'Pipeline' })
    await Promise.all([page.waitForResponse(/\/names\?.*[?&]q=Restart/), field.fill('Restart')])
    await page.getByRole('option', { name: /^Restart two/ }).click()
    const searches: string[] = []
    page.on('request', (request) => {
      if (/\/names\?.*[?&]q=/.test(request.url())) searches.push(request.url())
    })
    await page.getByRole('button', { name: /^GitHub/ }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.waitForLoadState('networkidle')
    assert.match(await field.inputValue(), /^Restart two · This machine · /)
    assert.deepEqual(searches, [])
    await close()
  })

  it('the guided setup ends with the pipeline: Back does not create it again', async () => {
    const { page, close } = await openPage(world, '/app/new?environment=1&step=repository')
    await page.getByRole('textbox', { name: 'Repository' }).fill('https://127.0.0.1:9/acme/back.git')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Add another server' }).click()
    await page.getByLabel('Name').fill('typed')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await page.getByLabel('This machine').check()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Health check', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Name').fill('back')
    await page.getByRole('button', { name: 'Create application and pipeline' }).click()
    await page.getByRole('heading', { name: 'Who calls?' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Health check', level: 2 }).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('application'), null)
    assert.equal(await page.evaluate('sessionStorage.getItem("draft:1:server-new-1")'), null)
    await close()
  })

  it('says what a role lacks, also where it does not show the place of an object', async () => {
    const permissions = ['application:view', 'hook:add']
    const role = await create('/organizations/1/roles', { name: 'Hooks only', permissions })
    const custom = await world.invite('hooks-only@example.com', { name: 'Hanna Hooks', role_id: role.id })
    const { page, close } = await openPage(world, '/app/applications/1/settings', custom)
    await page.getByRole('button', { name: /^Edit/ }).getByText('does not include application:edit').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
    await close()

    const viewer = await openPage(world, '/app/new?environment=1&step=build', world.viewer)
    await viewer.page.getByText('does not include application:add').waitFor()
    const submit = viewer.page.getByRole('button', { name: 'Create application and pipeline' })
    assert.ok(await submit.isDisabled())
    const described = await submit.getAttribute('aria-describedby')
    assert.match(await viewer.page.locator(`[id="${described}"]`).innerText(), /application:add/)
    await viewer.page.goto('/app/overview')
    await isLoaded(viewer.page)
    const remove = viewer.page.getByRole('button', { name: /^Remove the sample/ })
    await remove.getByText('does not include organization:remove').waitFor({ state: 'attached' })
    await viewer.close()
  })
})

async function openDialog(page: Page, name: string) {
  await page.getByRole('button', { name }).first().click()
  const dialog = page.getByRole('dialog', { name })
  await dialog.getByRole('textbox').first().waitFor()
  return dialog
}

/** With a server typed in. */
async function openServerDialog(page: Page) {
  const dialog = await openDialog(page, 'Add server')
  await dialog.getByLabel('Name').fill('web-7')
  await dialog.getByLabel('Host').first().fill('web-7.example.com')
  return dialog
}

async function hasServer(dialog: Locator) {
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'web-7')
  assert.equal(await dialog.getByLabel('Host').first().inputValue(), 'web-7.example.com')
}

/** What got the focus, even if only for a moment. */
const RECORD_FOCUS = `{
  window.focused = []
  addEventListener('focusin', ({ target }) => focused.push(target.textContent))
}`
