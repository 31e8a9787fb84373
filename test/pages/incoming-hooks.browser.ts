// Incoming hooks in a real browser, in front of a real Gantry: from a tile to the first call, and from a refused call
// to an accepted one.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { type Github, startGithub } from '#test/support/services/github.ts'
import { until } from '#test/support/until.ts'
import { focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { testRepositoryHooks } from './repository-hooks.ts'
import { isDisabledWithReason, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

type Hook = { id: string; url: string; secret: string }

const PUSH = {
  ref: 'refs/heads/main',
  after: 'a'.repeat(40),
  repository: { name: '<b>shop</b>', private: false },
}

describe('incoming hooks in the browser', () => {
  let world: PagesWorld
  let github: Github
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    const closer = { after: (end: () => Promise<void>) => ends.push(end) }
    world = await openPagesWorld(closer as never)
    github = await startGithub(closer as never)
    await world.openAll()
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const createHook = async (more: object): Promise<Hook> => {
    const { status, body } = await world.api('POST', `/pipelines/${world.pipelineId}/hooks/incoming`, {
      requires_secret: true,
      ...more,
    })
    assert.equal(status, 201, JSON.stringify(body))
    return body
  }
  /** Reads `kind` from a payload that does not have it. */
  const createPickyHook = (name: string) =>
    createHook({ name, settings: { variables: [{ name: 'kind', type: 'string', required: true }] } })

  it('take at most six clicks for GitHub, from the overview to the URL and the secret; the first call turns green', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await isLoaded(page)
    const clicks = await countClicks(page)
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /^Hooks/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Add hook' }).click()
    await page.getByRole('combobox', { name: 'Pipeline' }).click()
    await page.getByRole('option', { name: /^Two steps/ }).click()
    await looksRight(page, 'the tiles')
    await page.getByRole('button', { name: /^GitHub/ }).click()
    await looksRight(page, 'the fields of a tile')
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page.getByText('Waiting for the first call…').waitFor()
    assert.ok((await clicks()) <= 6, `${await clicks()} clicks`)

    const url = await page.getByRole('textbox', { name: 'URL' }).inputValue()
    const secret = await page.getByRole('textbox', { name: 'Secret' }).inputValue()
    await page
      .getByRole('listitem')
      .filter({ hasText: `Payload URL: ${url}` })
      .waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: `Secret: ${secret}` })
      .waitFor()
    assert.doesNotMatch(page.url(), new RegExp(secret))
    assert.doesNotMatch(await storedInTab(page), new RegExp(secret))
    await looksRight(page, 'a new hook')

    await send({ url, secret }, PUSH, 'not the secret')
    await page.getByText('A call arrived and was rejected').waitFor()
    assert.equal((await send({ url, secret }, PUSH)).status, 202)
    await page.getByText('First call received').waitFor()
    await page.getByRole('link', { name: /^Run #/ }).waitFor()
    await looksRight(page, 'the first call')
    await page.getByRole('link', { name: 'Open hook' }).click()
    await page.getByRole('heading', { name: 'GitHub' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('are created by keyboard alone', async () => {
    const { page, errors, close } = await openPage(world, '/app/hooks')
    await isLoaded(page)
    await tabTo(page, 'Add hook')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Add hook' }).waitFor()
    await page.getByRole('button', { name: /^Your own script/ }).waitFor()
    await tabTo(page, 'Pipeline')
    await page.keyboard.type('Two st')
    await page.getByRole('option', { name: /^Two steps/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await until('the pipeline is chosen', 10_000, async () => /pipeline=\d+/.test(page.url()))
    await tabTo(page, /^Your own script/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Calls from Your own script' }).waitFor()
    await tabTo(page, 'Name')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Скрипт развёртывания')
    await tabTo(page, 'Create hook')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hook Скрипт развёртывания is ready' }).waitFor()
    await page.getByText('Waiting for the first call…').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('accept a refused call after a click on its values, tried before it is saved and then replayed', async () => {
    const hook = await createPickyHook('Picky')
    assert.equal((await send(hook, PUSH)).status, 422)
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    await page
      .getByRole('row', { name: /Rejected/ })
      .getByRole('button')
      .click()
    const drawer = page.getByRole('dialog', { name: 'Received call' })
    await drawer.getByText('Missing or invalid variables').waitFor()
    await drawer.getByText('is required, but the payload has no value at kind').waitFor()
    await drawer.getByText('x-hub-signature-256').waitFor()
    await looksRight(page, 'a refused call')

    await drawer.getByRole('treeitem', { name: /^ref/ }).click()
    await drawer.getByRole('button', { name: 'Use for kind' }).click()
    assert.equal(await drawer.getByLabel('Path of variable 1').inputValue(), 'ref')
    await drawer.getByText('Would start a run').waitFor()
    assert.equal(await drawer.getByRole('button', { name: 'Use for kind' }).count(), 0)

    await drawer.getByRole('button', { name: 'Remove variable 1' }).click()
    await drawer.getByRole('treeitem', { name: /^ref/ }).click()
    await drawer.getByRole('button', { name: 'Add variable' }).first().click()
    assert.equal(await drawer.getByLabel('Name of variable 1').inputValue(), 'branch')
    assert.equal(await drawer.getByLabel('Path of variable 1').inputValue(), 'ref')
    await drawer.getByText('Would start a run').waitFor()
    await drawer.getByRole('treeitem', { name: /^private/ }).click()
    await drawer.getByRole('button', { name: 'Add condition' }).first().click()
    await drawer.getByText('false', { exact: true }).first().waitFor()
    await drawer
      .getByRole('button', { name: 'Replay' })
      .getByText('save your changes first')
      .waitFor({ state: 'attached' })
    assert.equal((await stored(hook)).settings.variables[0].name, 'kind', 'nothing is saved yet')

    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Hook Picky saved.').waitFor()
    const { settings, trigger_when } = await stored(hook)
    assert.deepEqual(settings.variables, [
      { name: 'branch', path: 'ref', type: 'string', required: true, default_value: null },
    ])
    assert.deepEqual(trigger_when.conditions, [{ path: 'repository.private', accepted_values: [false] }])
    await drawer.getByRole('button', { name: 'Replay' }).click()
    await drawer.getByRole('link', { name: /^Run #/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /Accepted.*Replay/ }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('have conditions with operators and in groups, and a header of a call becomes one with a click', async () => {
    const hook = await createHook({
      name: 'Rules',
      trigger_when: { conditions: [{ path: 'ref', matches: 'refs/heads/*' }] },
    })
    await send(hook, PUSH)
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    await page.getByLabel('Pattern of condition 1').fill('refs/heads/{main')
    await page.getByRole('button', { name: 'Add “any of” group' }).first().click()
    await page.getByLabel('Path of condition 2, alternative 1').fill('forced')
    await page.getByRole('combobox', { name: 'Operator of condition 2, alternative 1' }).click()
    await page.getByRole('option', { name: 'is absent' }).click()
    await page.getByRole('button', { name: 'Remove condition 2, alternative 2' }).click()
    await looksRight(page, 'conditions in a group')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('has a "{" without "}"').first().waitFor()
    await page.getByLabel('Pattern of condition 1').fill('refs/heads/{main,dev}')

    await page
      .getByRole('row', { name: /Accepted/ })
      .getByRole('button')
      .click()
    const drawer = page.getByRole('dialog', { name: 'Received call' })
    const signature = drawer.getByRole('button', { name: 'Add condition on header x-hub-signature-256' })
    assert.equal(await signature.count(), 0)
    await drawer.getByRole('button', { name: 'Add condition on header content-type' }).click()
    await drawer.getByText('Would start a run').waitFor()
    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Hook Rules saved.').waitFor()
    assert.deepEqual((await stored(hook)).trigger_when.conditions, [
      { path: 'ref', matches: 'refs/heads/{main,dev}' },
      { any_of: [{ path: 'forced', exists: false }] },
      { header: 'content-type', accepted_values: ['application/json'] },
    ])
    assert.deepEqual(errors, [])
    await close()
  })

  it('let a refused call be corrected and replayed by keyboard alone', async () => {
    const hook = await createPickyHook('Keyboard')
    assert.equal((await send(hook, PUSH)).status, 422)
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    await page.getByRole('row', { name: /Rejected/ }).waitFor()
    await tabTo(page, /ago|just now/)
    await page.keyboard.press('Enter')
    await page.getByRole('tree').waitFor()
    await tabTo(page, 'Body')
    await page.keyboard.press('ArrowDown')
    await tabTo(page, 'Path of variable 1')
    await page.keyboard.type('ref')
    await page.getByText('Would start a run').waitFor()
    await tabTo(page, 'Save changes')
    await page.keyboard.press('Enter')
    await page.getByText('Hook Keyboard saved.').waitFor()
    await tabTo(page, 'Replay', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^Run #/ })
      .waitFor()
    await page.keyboard.press('Escape')
    await focusMovesTo(page, /ago|just now/)
    assert.deepEqual(errors, [])
    await close()
  })

  it('show a megabyte of JSON as a tree, digit by digit, and find what is deep inside', async () => {
    const hook = await createHook({ name: 'Large' })
    const commits = Array.from({ length: 7_000 }, (_, number) => ({
      id: `commit-${number}`,
      text: 'x'.repeat(100),
    }))
    const text = JSON.stringify({ id: 0, 'a.b': ['日本語'], commits }).replace(
      '"id":0',
      '"id":12345678901234567890',
    )
    assert.ok(text.length > 900_000)
    assert.equal((await send(hook, text)).status, 202)
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    await page
      .getByRole('row', { name: /Accepted/ })
      .getByRole('button')
      .click()
    const tree = page.getByRole('tree', { name: 'Body' })
    await tree.getByText('12345678901234567890').waitFor()
    assert.ok((await tree.getByRole('treeitem').count()) < 100, 'only visible rows are rendered')
    await page.getByLabel('Search the JSON').fill('commit-6543')
    await page.keyboard.press('Enter')
    await tree.getByText('"commit-6543"').waitFor()
    await page.getByText('commits.6543.id', { exact: true }).waitFor()
    await page.getByLabel('Search the JSON').fill('日本語')
    await page.keyboard.press('Enter')
    await page.getByText('["a.b"].0', { exact: true }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('try a payload that a person enters, in an editor that the keyboard can leave', async () => {
    const hook = await createPickyHook('Untouched')
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    await page.getByText('No calls yet').waitFor()
    await page.getByRole('button', { name: 'Try a payload' }).click()
    const drawer = page.getByRole('dialog', { name: 'Try a payload' })
    const editor = drawer.getByRole('textbox', { name: 'Payload' })
    await editor.click()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('{"kind": "nightly"')
    await drawer.getByText('This is not valid JSON.', { exact: true }).waitFor()
    await page.keyboard.type('}')
    await drawer.getByText('Would start a run').waitFor()
    await drawer.getByRole('cell', { name: 'nightly' }).waitFor()
    await looksRight(page, 'a payload')
    await page.keyboard.press('Tab')
    await focusMovesTo(page, 'Search the JSON')
    assert.equal(await page.evaluate('document.querySelectorAll("style").length'), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('lose nothing that was typed when Gantry goes away or the tab is reloaded; errors are at their inputs', async () => {
    const hook = await createHook({ name: 'Steady' })
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    const settings = page.getByRole('region', { name: 'Settings' })
    await settings.getByRole('button', { name: 'Add variable' }).click()
    await settings.getByLabel('Name of variable 1').fill('not a name')
    await settings.getByLabel('Path of variable 1').fill('a..b')
    await settings.getByText('Signature and rate limit').click()
    await settings.getByLabel('New secret, optional').fill('a secret that is long enough')
    await looksRight(page, 'a hook with all its fields')
    await page.route('**/hooks/incoming/*', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    )
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await settings.getByText('Gantry is unreachable.').waitFor()
    assert.equal(await settings.getByLabel('Name of variable 1').inputValue(), 'not a name')
    assert.doesNotMatch(await storedInTab(page), /long enough/)

    await page.unroute('**/hooks/incoming/*')
    page.on('dialog', (dialog) => void dialog.accept())
    await page.reload()
    await settings.getByText('Your unsaved changes were restored.').waitFor()
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await settings.getByText('Must start with a letter').waitFor()
    await settings.getByLabel('Name of variable 1').fill('kind')
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await settings.getByText('Has an empty name').waitFor()
    await settings.getByLabel('Path of variable 1').fill('a.b')
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Hook Steady saved.').waitFor()
    assert.equal((await stored(hook)).settings.variables[0].path, 'a.b')
    assert.deepEqual(errors, [])
    await close()
  })

  it('show both versions when they were changed in two tabs', async () => {
    const hook = await createHook({ name: 'Shared' })
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    const settings = page.getByRole('region', { name: 'Settings' })
    await settings.getByLabel('Name', { exact: true }).fill('Mine')
    await world.api('PUT', `/hooks/incoming/${hook.id}`, { name: 'Theirs' })
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await settings.getByText('Someone else saved changes while you were editing').waitFor()
    await settings.getByRole('cell', { name: 'Theirs' }).waitFor()
    await settings.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Hook Mine saved.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('are paused, enabled, given a new secret that is shown once, and removed', async () => {
    const hook = await createHook({ name: 'Short-lived' })
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    assert.equal((await send(hook, PUSH)).status, 404)
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()

    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click()
    await page.getByRole('dialog').getByLabel('The previous secret stays valid').selectOption('not at all')
    await looksRight(page, 'the rotation')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click()
    const secret = await page.getByRole('dialog').getByRole('textbox', { name: 'Secret' }).inputValue()
    await looksRight(page, 'a new secret')
    await page.getByRole('button', { name: 'Done' }).click()
    assert.equal((await send(hook, PUSH)).status, 403)
    assert.equal((await send({ ...hook, secret }, PUSH)).status, 202)
    assert.doesNotMatch(await page.content(), new RegExp(secret))

    await page.getByRole('button', { name: 'More actions' }).click()
    await looksRight(page, 'the menu of a hook')
    await page.getByRole('menuitem', { name: 'Remove hook' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove hook' }).click()
    await page.getByRole('heading', { name: 'Hooks', exact: true }).waitFor()
    assert.equal((await world.api('GET', `/hooks/incoming/${hook.id}`)).status, 404)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are listed by kind and text, page by page, and so are their calls', async () => {
    const hook = await createHook({ name: `Z${'ü'.repeat(59)}` })
    for (let number = 0; number < 30; number++) await send(hook, { number })
    const { page, errors, close } = await openPage(world, '/app/hooks')
    await page.getByRole('link', { name: 'Unreachable receiver' }).waitFor()
    await page.getByText('Incoming', { exact: true }).click()
    await page.getByRole('link', { name: 'Unreachable receiver' }).waitFor({ state: 'detached' })
    await page.getByLabel('Filter hooks').fill('züü')
    await page.getByRole('link', { name: 'External service' }).waitFor({ state: 'detached' })
    await looksRight(page, 'the list of hooks')
    await page.getByRole('link', { name: /^Zü/ }).click()
    await page
      .getByRole('navigation', { name: 'Pages of calls' })
      .getByRole('button', { name: 'Older' })
      .click()
    await page.getByText('Page 2 · 30 total').waitFor()
    await looksRight(page, 'the page of a hook')
    assert.deepEqual(errors, [])
    await close()
  })

  it('tell a viewer why buttons are disabled, and hide what a call contained', async () => {
    const hook = await createPickyHook('For viewers')
    await send(hook, PUSH)
    const { page, errors, close } = await openPage(world, `/app/hooks/incoming/${hook.id}`, world.viewer)
    await page.getByRole('row', { name: /Rejected/ }).waitFor()
    await isDisabledWithReason(page, 'Pause')
    await page.getByText('Your role does not include hook:edit').first().waitFor({ state: 'attached' })
    assert.ok(await page.getByRole('button', { name: 'Save changes' }).isDisabled())
    await page
      .getByRole('row', { name: /Rejected/ })
      .getByRole('button')
      .click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('shown to people whose role includes hook:edit').waitFor()
    await drawer
      .getByRole('button', { name: /^Replay/ })
      .getByText('does not include pipeline:run')
      .waitFor({ state: 'attached' })
    await looksRight(page, 'a call for a viewer')
    await page.goto('/app/hooks')
    await isDisabledWithReason(page, 'Add hook')
    assert.deepEqual(errors, [])
    await close()
  })

  it('are created with exactly hook:add and the view of the resource, and say so when the permission is lost', async () => {
    const role = await world.api('POST', '/organizations/1/roles', {
      name: 'Hook maker',
      permissions: ['server:view', 'hook:add'],
    })
    assert.equal(role.status, 201, JSON.stringify(role.body))
    const maker = await world.invite('maker@example.com', { name: 'Hook Maker', role_id: role.body.id })
    const { page, errors, close } = await openPage(world, '/app/hooks/new', maker)
    await page.getByLabel('Pipeline ID').fill(String(world.pipelineId))
    await page.getByRole('button', { name: /^Without a signature/ }).click()
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page.getByRole('heading', { name: 'Hook Unsigned is ready' }).waitFor()

    await page.goto(`/app/hooks/new?pipeline=${world.pipelineId}`)
    await page.getByRole('button', { name: /^Without a signature/ }).click()
    await page.getByLabel('Name', { exact: true }).fill('Too late')
    assert.equal(
      (await world.api('PUT', `/roles/${role.body.id}`, { permissions: ['server:view'] })).status,
      200,
    )
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: /permission|not found|does not exist/i })
      .waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Too late')
    assert.deepEqual(errors, [])
    await close()
  })

  testRepositoryHooks(
    () => world,
    () => github,
  )

  it('perform the writing operations that are listed for this file', async () => {
    await assertWrites(world, 'incoming-hooks.browser.ts')
  })

  async function stored(hook: Hook) {
    return (await world.api('GET', `/hooks/incoming/${hook.id}`)).body
  }
})

async function send({ url, secret }: { url: string; secret: string }, payload: unknown, key = secret) {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const signature = createHmac('sha256', key).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  return fetch(url, { method: 'POST', headers, body })
}

/** Everything that the tab keeps. */
async function storedInTab(page: Page): Promise<string> {
  return page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')
}

/** How often a person has clicked since. */
async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(
    'window.clicks = 0; addEventListener("click", (e) => { if (e.isTrusted && e.detail > 0) window.clicks++ }, true)',
  )
  return () => page.evaluate('window.clicks')
}
