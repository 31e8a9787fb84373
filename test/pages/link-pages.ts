// The pages that links of invitations and password resets lead to.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { ADMIN } from '#test/support/process.ts'
import { type AccountsWorld, tokenOf } from './accounts-world.ts'
import { openPage, signIn } from './world.ts'

const PASSWORD = 'a password of my own'

export function testInvitationPage(theWorld: () => AccountsWorld): void {
  it('shows what it is for, creates the account and signs in; the token stays out of every URL', async () => {
    const { createOrganization, invite, api } = theWorld()
    const organization = await createOrganization('Northwind')
    const project = (await api('POST', `/organizations/${organization}/projects`, { name: 'Web shop' })).body
    const grant = { name: 'Nora New', role: 'developer', project_id: project.id }
    const link = await invite(organization, 'nora@example.com', grant)
    const { page, errors, close } = await openPage(theWorld(), '/app/sign-in', null)
    const sent = recordRequests(page)
    await page.goto(link)
    await page.getByRole('heading', { name: 'Join Northwind' }).waitFor()
    assert.equal(page.url(), `${theWorld().url}/app/invitation`)
    await page.getByText('nora@example.com').waitFor()
    await page.getByText('developer in Web shop').waitFor()
    assert.equal(await page.getByLabel('Name').inputValue(), 'Nora New')
    assert.equal(
      await page.getByLabel('Password', { exact: true }).getAttribute('autocomplete'),
      'new-password',
    )

    await page.reload()
    await page.getByLabel('Name').fill('Nora Newman')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create account and join' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const token = tokenOf(link)
    const inBodies = sent.filter((request) => request.postData()?.includes(token))
    assert.deepEqual(
      new Set(inBodies.map((request) => new URL(request.url()).pathname)),
      new Set(['/users/read-invitation', '/users/accept-invitation']),
    )
    for (const request of sent) {
      const headers = JSON.stringify(await request.allHeaders())
      assert.ok(!urlOf(request).includes(token) && !headers.includes(token), request.url())
    }
    assert.equal((await page.request.get('/users/me').then((answer) => answer.json())).name, 'Nora Newman')
    assert.ok(!theWorld().log.some((line) => line.includes(token)))
    assert.ok(
      !JSON.stringify(await page.evaluate('({ ...sessionStorage, ...localStorage })')).includes(token),
    )
    await page.goBack()
    assert.ok(!page.url().includes(token))
    assert.deepEqual(errors, [])
    await close()
  })

  it('works with earlier links, which have the token in the path', async () => {
    const { createOrganization, invite, url } = theWorld()
    const link = await invite(await createOrganization('Contoso'), 'earlier@example.com')
    const { page, errors, close } = await openPage(theWorld(), `/app/invitation/${tokenOf(link)}`, null)
    await page.getByRole('heading', { name: 'Join Contoso' }).waitFor()
    assert.equal(page.url(), `${url}/app/invitation`)
    assert.deepEqual(errors, [])
    await close()
  })

  it('lets people with an account sign in and join', async () => {
    const { createOrganization, createPerson, invite, api } = theWorld()
    const person = await createPerson('Eve Existing')
    const organization = await createOrganization('Fabrikam')
    const link = await invite(organization, person.email)
    const { page, errors, close } = await openPage(theWorld(), link, null)
    await page.getByText('Sign in to your account to join.').waitFor()
    assert.equal(await page.getByLabel('Email').inputValue(), person.email)
    await enterPassword(page, 'not the password')
    await page.getByRole('alert').getByText('Incorrect email or password').waitFor()
    await enterPassword(page, person.password)
    await page.getByRole('button', { name: 'Join Fabrikam' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const { body } = await api('GET', `/organizations/${organization}/members/${person.id}`)
    assert.equal(body.grants[0].role, 'viewer')
    assert.deepEqual(errors, [])
    await close()
  })

  it('says when somebody else is signed in, and lets them switch', async () => {
    const { createOrganization, createPerson, invite } = theWorld()
    const [person, other] = [await createPerson('Ida Invited'), await createPerson('Otto Other')]
    const link = await invite(await createOrganization('Tailspin'), person.email)
    const { page, errors, close } = await openPage(theWorld(), '/app/overview', null)
    await signIn(page, other)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goto(link)
    await page
      .getByText(`You are signed in as ${other.email}, but this link is for ${person.email}.`)
      .waitFor()
    await page.getByRole('button', { name: 'Sign out and continue' }).click()
    await enterPassword(page, person.password)
    await page.getByRole('button', { name: 'Join Tailspin' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('is one clear page for every link that does not work, also when it stops working meanwhile', async () => {
    const { createOrganization, invite, api, url } = theWorld()
    const organization = await createOrganization('Litware')
    const link = await invite(organization, 'late@example.com')
    const { page, errors, close } = await openPage(theWorld(), link, null)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('Name').fill('Lena Late')
    const [invitation] = (await api('GET', `/organizations/${organization}/invitations`)).body
    await api('DELETE', `/organizations/${organization}/invitations/${invitation.id}`)
    await page.getByRole('button', { name: 'Create account and join' }).click()
    await isDeadLink(page)
    // Only the fragment changes: the page is not loaded again.
    await page.goto(`${url}/app/invitation#${tokenOf(await invite(organization, 'later@example.com'))}`)
    await page.getByRole('heading', { name: 'Join Litware' }).waitFor()
    await page.goto(`${url}/app/invitation#gty_in_unknown`)
    await isDeadLink(page)
    assert.deepEqual(errors, [])
    await close()
    const without = await openPage(theWorld(), '/app/invitation', null)
    await isDeadLink(without.page)
    await without.close()
  })
}

export function testResetPage(theWorld: () => AccountsWorld): void {
  it('sets a new password once, and signs in', async () => {
    const { createPerson, api, callAs } = theWorld()
    const person = await createPerson('Fred Forgetful')
    const { body } = await api('POST', `/users/${person.id}/password-reset`)
    const { page, errors, close } = await openPage(theWorld(), '/app/sign-in', null)
    const sent = recordRequests(page)
    await page.goto(body.url)
    await page.getByText(`For the account ${person.email}.`).waitFor()
    assert.equal(page.url(), `${theWorld().url}/app/reset-password`)
    const field = page.getByLabel('New password')
    assert.equal(await field.getAttribute('autocomplete'), 'new-password')
    await field.fill('short')
    await page.getByRole('button', { name: 'Set password' }).click()
    assert.equal(await page.locator('input:invalid').count(), 1)
    await field.fill(PASSWORD)
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const request of sent) assert.ok(!urlOf(request).includes(tokenOf(body.url)), request.url())
    const logIn = (password: string) =>
      callAs(undefined, 'POST', '/users/login', { email: person.email, password })
    assert.equal((await logIn(PASSWORD)).status, 200)
    assert.equal((await logIn(person.password)).status, 401)
    await page.goto(body.url)
    await isDeadLink(page)
    assert.deepEqual(errors, [])
    await close()
  })

  it('does not change the password of one person in the browser of another unnoticed', async () => {
    const { createPerson, api } = theWorld()
    const person = await createPerson('Rita Reset')
    const { body } = await api('POST', `/users/${person.id}/password-reset`)
    const { page, close } = await openPage(theWorld(), '/app/overview', null)
    await signIn(page, ADMIN)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goto(body.url)
    await page.getByText(`You are signed in as ${ADMIN.email}`).waitFor()
    await page.getByRole('button', { name: 'Sign out and continue' }).click()
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal((await page.request.get('/users/me').then((answer) => answer.json())).email, person.email)
    await close()
  })
}

async function isDeadLink(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
}

/** The email is that of the invitation. */
async function enterPassword(page: Page, password: string): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

function recordRequests(page: Page): Request[] {
  const sent: Request[] = []
  page.on('request', (request) => sent.push(request))
  return sent
}

/** As it is sent: without the fragment. */
function urlOf(request: Request): string {
  return request.url().split('#')[0]!
}
