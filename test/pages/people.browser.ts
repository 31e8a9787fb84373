// Members, invitations, roles and users in a real browser, in front of a real Gantry.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { call } from '#test/support/process.ts'
import { arrowTo, focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

describe('the pages for people', () => {
  let world: PagesWorld
  let shop: { projectId: number; environmentId: number }
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
    shop = await world.createProject('Web shop', 'Production')
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const readLink = async (link: string) =>
    call(world, 'POST', '/users/read-invitation', { body: { token: new URL(link).hash.slice(1) } })

  it('invite somebody in four clicks from the overview; the link is shown once', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByLabel('Email').fill('not an address')
    await page.getByRole('button', { name: 'Create link' }).click()
    await page
      .getByRole('dialog')
      .getByText(/^Must be .*email/i)
      .waitFor()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByRole('button', { name: 'Create link' }).click()
    const link = await page.getByLabel('Invitation link', { exact: true }).inputValue()
    await page.getByText('Copy it now. It is not shown again.').waitFor()
    assert.equal((await readLink(link)).body.grants[0].role_name, 'viewer')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Done' }).click()
    await row(page, 'Pending invitations', 'ada@example.com').getByText('Invited by Administrator').waitFor()
    const kept = await page.evaluate(
      'document.body.innerHTML + JSON.stringify({ ...sessionStorage, ...localStorage })',
    )
    assert.ok(!String(kept).includes(link.split('#')[1]!))

    await page.getByRole('button', { name: 'Invite again: ada@example.com' }).click()
    await page.getByLabel('Role', { exact: true }).selectOption('Developer')
    await page.getByLabel('Access to', { exact: true }).selectOption('Web shop / Production')
    await page.getByRole('button', { name: 'Create link' }).click()
    const second = await page.getByLabel('Invitation link', { exact: true }).inputValue()
    assert.equal((await readLink(link)).status, 422)
    assert.equal((await readLink(second)).body.grants[0].environment_name, 'Production')
    await page.getByRole('button', { name: 'Done' }).click()
    await row(page, 'Pending invitations', 'ada@example.com').getByText('in Web shop / Production').waitFor()
    await page.getByRole('button', { name: 'Revoke the invitation of ada@example.com' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Invitation of ada@example.com revoked.').waitFor()
    await page.getByRole('heading', { name: 'Pending invitations' }).waitFor({ state: 'detached' })
    assert.equal((await readLink(second)).status, 422)
    assert.deepEqual(errors, [])
    await close()
  })

  it('invite somebody by keyboard alone', async () => {
    const { page, close } = await openPage(world, '/app/overview')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await tabTo(page, 'Members')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Members', exact: true }).waitFor()
    await tabTo(page, 'Invite')
    await page.keyboard.press('Enter')
    await focusMovesTo(page, 'Email')
    await page.keyboard.type('grace@example.com')
    await tabTo(page, 'Role')
    await page.keyboard.type('Dev')
    await tabTo(page, 'Create link')
    await page.keyboard.press('Enter')
    const link = await page.getByLabel('Invitation link', { exact: true }).inputValue()
    assert.equal((await readLink(link)).body.grants[0].role_name, 'developer')
    await tabTo(page, 'Done')
    await page.keyboard.press('Enter')
    await row(page, 'Pending invitations', 'grace@example.com').waitFor()
    await focusMovesTo(page, 'Invite')
    await close()
  })

  it('change the roles of a member, show what somebody else changed meanwhile, and remove the member', async () => {
    const name = `${'很长的名字 <b>x</b> '.repeat(20)}`.trim().slice(0, 255)
    await world.invite('linus@example.com', { name, role: 'viewer' })
    const { page, errors, close } = await openPage(world, '/app/members')
    const member = row(page, 'Members', 'linus@example.com')
    await member.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Change roles' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Add role' }).click()
    await dialog.getByLabel('Role 2', { exact: true }).selectOption('Developer')
    await dialog.getByLabel('Access to 2').selectOption('Web shop')
    const { body: members } = await world.api('GET', '/organizations/1/members')
    const { user_id } = members.find(
      (one: { user: { email: string } }) => one.user.email === 'linus@example.com',
    )
    await world.api('PUT', `/organizations/1/members/${user_id}`, { grants: [{ role: 'admin' }] })
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('Someone else saved changes while you were editing').waitFor()
    await dialog.getByRole('button', { name: 'Keep mine' }).click()
    await member.getByText('in Web shop').waitFor()
    const { body } = await world.api('GET', `/organizations/1/members/${user_id}`)
    assert.deepEqual(
      body.grants.map((grant: { role: string; project_id: number }) => [grant.role, grant.project_id]).sort(),
      [
        ['developer', shop.projectId],
        ['viewer', null],
      ],
    )
    await member.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove member' }).click()
    await member.waitFor({ state: 'detached' })

    await row(page, 'Members', 'admin@example.com')
      .getByRole('button', { name: /^Actions/ })
      .click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove member' }).click()
    await dialog.getByText('An organization needs an owner').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('add, edit and remove a custom role, whose permissions are one tab stop', async () => {
    const { page, errors, close } = await openPage(world, '/app/members')
    await page.getByRole('button', { name: 'Add role' }).click()
    await focusMovesTo(page, 'Name')
    await page.keyboard.type('Viewer')
    await page.keyboard.press('Tab')
    await focusMovesTo(page, 'View runs')
    await page.keyboard.press('ArrowDown')
    for (const _ of ['add', 'edit', 'remove', 'run']) await page.keyboard.press('ArrowRight')
    await focusMovesTo(page, 'Run, use pipelines')
    await page.keyboard.press('Space')
    await tabTo(page, 'Add role')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Is the name of a built-in role.').waitFor()
    await dialog.getByLabel('Name').fill('Operator')
    await dialog.getByRole('button', { name: 'Add role' }).click()
    const role = row(page, 'Roles', 'Operator')
    await role.getByText('Pipelines: view, run').waitFor()
    await role.getByText('No members').waitFor()

    await world.invite('otto@example.com', { name: 'Otto Operator', role_id: await roleId('Operator') })
    await page.reload()
    await role.getByText('Otto Operator').waitFor()
    await role.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Edit role' }).click()
    await dialog.getByLabel('View hooks').uncheck()
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Role Operator changed.').waitFor()
    const permissions = async () =>
      (await world.api('GET', `/roles/${await roleId('Operator')}`)).body.permissions as string[]
    assert.ok(!(await permissions()).includes('hook:view') && (await permissions()).includes('pipeline:run'))
    await role.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove role' }).click()
    await dialog.getByText('The role is in use: 1 member has it.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await world.api('POST', '/organizations/1/roles', { name: 'Unused', permissions: ['hook:view'] })
    await page.reload()
    await row(page, 'Roles', 'Unused')
      .getByRole('button', { name: /^Actions/ })
      .click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove role' }).click()
    await page.getByText('Role Unused removed.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('say why a viewer cannot change anything, and show nothing to a role that may not see members', async () => {
    const { page, errors, close } = await openPage(world, '/app/members', world.viewer)
    const invite = page.getByRole('button', { name: /^Invite Your role/ })
    await row(page, 'Members', 'viewer@example.com')
      .getByRole('button', { name: /^Actions/ })
      .click()
    await page.getByRole('menuitem', { name: /Change roles.*does not include member:edit/s }).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await invite.getAttribute('aria-disabled'), 'true')
    await invite.hover()
    await page.getByRole('tooltip').getByText('Your role does not include member:add.').waitFor()
    await invite.click({ force: true })
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.goto('/app/users')
    await page.getByText('You cannot see the users of this installation').waitFor()
    assert.deepEqual(errors, [])
    await close()

    const { body } = await world.api('POST', '/organizations/1/roles', {
      name: 'Lookout',
      permissions: ['organization:view', 'action:view'],
    })
    const lookout = await world.invite('lookout@example.com', { name: 'Lea Lookout', role_id: body.id })
    const other = await openPage(world, '/app/members', lookout)
    await other.page.getByText('You do not have permission to see the members').waitFor()
    await other.page.goto('/app/account')
    const access = other.page.getByRole('region', { name: 'Roles and permissions' })
    await access.getByText('Runs: view · Organization: view').waitFor()
    await access.getByText('Sample organization').waitFor()
    await other.close()
  })

  it('deactivate and activate a user, and reset a password with a link that is shown once', async () => {
    const person = await world.invite('uma@example.com', { name: 'Uma User', role: 'viewer' })
    const { page, errors, close } = await openPage(world, '/app/users')
    await page.getByLabel('Search by email').fill('UMA@')
    const user = row(page, 'Users', 'uma@example.com')
    await row(page, 'Users', 'viewer@example.com').waitFor({ state: 'detached' })
    await page.waitForURL(/email=UMA/)
    const act = async (item: string, button: string) => {
      await user.getByRole('button', { name: /^Actions/ }).click()
      await page.getByRole('menuitem', { name: item }).click()
      await page.getByRole('dialog').getByRole('button', { name: button }).click()
    }
    const logIn = async () => (await call(world, 'POST', '/users/login', { body: person })).status
    await act('Deactivate', 'Deactivate')
    await user.getByText('Deactivated').waitFor()
    assert.equal(await logIn(), 401)
    await act('Activate', 'Activate')
    await user.getByText('Active').waitFor()
    assert.equal(await logIn(), 200)
    await act('Reset password', 'Create link')
    const link = await page.getByLabel('Password reset link', { exact: true }).inputValue()
    await page.getByRole('button', { name: 'Done' }).click()
    const { body } = await call(world, 'POST', '/users/read-password-reset', {
      body: { token: new URL(link).hash.slice(1) },
    })
    assert.equal(body.email, 'uma@example.com')
    assert.deepEqual(errors, [])
    await close()
  })

  it('copy a pipeline as a gantry.yaml that changes nothing when it is applied', async () => {
    const { page, errors, close } = await openPage(world, `/app/pipelines/${world.pipelineId}`)
    // As over plain HTTP from another host.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    const copy = async (format: string) => {
      await tabTo(page, 'Copy as')
      await page.keyboard.press('Enter')
      await arrowTo(page, format)
      await page.keyboard.press('Enter')
      await focusMovesTo(page, 'Select the text and copy it')
      const text = await page.getByLabel('Select the text and copy it').inputValue()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      return text
    }
    const document = await copy('gantry.yaml')
    assert.match(document, /Two steps/)
    assert.doesNotMatch(document, /Web shop|credentials/)
    const applied = await world.api('POST', '/apply', { document, dry_run: true })
    assert.deepEqual([applied.status, applied.body.changes], [200, []], JSON.stringify(applied.body))
    assert.equal(await copy('gantry command'), `gantry pipelines show '#${world.pipelineId}'`)
    assert.match(await copy('curl command'), /^curl -X GET 'http.*\/pipelines\/\d+'/)
    assert.deepEqual(errors, [])
    await close()
  })

  it('look right', async () => {
    const { page, errors, close } = await openPage(world, '/app/members')
    await looksRight(page, 'members')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await looksRight(page, 'invite')
    await page.getByLabel('Email').fill('looks@example.com')
    await page.getByRole('button', { name: 'Create link' }).click()
    await page.getByLabel('Invitation link', { exact: true }).waitFor()
    await looksRight(page, 'invitation link')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Add role' }).click()
    await looksRight(page, 'new role')
    await page.keyboard.press('Escape')
    await row(page, 'Members', 'viewer@example.com')
      .getByRole('button', { name: /^Actions/ })
      .click()
    await page.getByRole('menuitem', { name: 'Change roles' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Add role' }).click()
    await looksRight(page, 'roles of a member')
    await page.goto('/app/users')
    await looksRight(page, 'users')
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform what writes.ts says', () => assertWrites(world, 'people.browser.ts'))

  async function roleId(name: string): Promise<number> {
    const { body } = await world.api('GET', '/organizations/1/roles')
    return body.find((role: { name: string }) => role.name === name).id
  }
})

function row(page: Page, table: string, text: string) {
  return page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text })
}
