// The sign-in page, where password login is all there is.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import type { AccountsWorld } from './accounts-world.ts'
import { looksRight } from './looks.ts'
import { openPage, signIn } from './world.ts'

export function testSignInPage(theWorld: () => AccountsWorld): void {
  it('is ready for the keyboard and for password managers, and announces a wrong password', async () => {
    const person = await theWorld().createPerson('Kim Keyboard')
    const { page, errors, close } = await openPage(theWorld(), '/app/actions?status=failed', null)
    const [email, password] = [page.getByLabel('Email'), page.getByLabel('Password', { exact: true })]
    await email.waitFor()
    assert.equal(await focusedField(page), 'username')
    assert.equal(await email.getAttribute('autocomplete'), 'username')
    assert.equal(await password.getAttribute('autocomplete'), 'current-password')
    assert.equal(await page.getByRole('button', { name: 'Single sign-on' }).count(), 0)
    await page.getByText('Lost your password?').click()
    await page.getByText('Ask an instance administrator').waitFor()
    await page.getByText('npm run reset-password -- you@example.com').waitFor()
    await looksRight(page, 'how to reset a password')
    await email.focus()
    await page.keyboard.type(person.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type('not the password')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Incorrect email or password').waitFor()
    assert.equal(await focusedField(page), 'password')
    await page.keyboard.type(person.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Actions' }).waitFor()
    assert.equal(new URL(page.url()).search, '?status=failed')
    assert.deepEqual(errors, [])
    await close()
  })

  it('says when to try again after too many wrong passwords', async () => {
    const person = await theWorld().createPerson('Thea Throttled')
    for (let status = 401; status !== 429; ) {
      const body = { email: person.email, password: 'a guess' }
      status = (await theWorld().callAs(undefined, 'POST', '/users/login', body)).status
      assert.ok(status === 401 || status === 429)
    }
    const { page, close } = await openPage(theWorld(), '/app/sign-in', null)
    await signIn(page, person)
    await page
      .getByRole('alert')
      .getByText(/Too many failed attempts\. Try again in \d+ minutes, at \d+:\d+/)
      .waitFor()
    await close()
  })

  it('explains why single sign-on failed, and leads people who are signed in to the overview', async () => {
    const person = await theWorld().createPerson('Olga Onward')
    const { page, errors, close } = await openPage(theWorld(), '/app/sign-in?problem=sso_expired', null)
    await page.getByRole('alert').getByText('The sign-in took too long').waitFor()
    await signIn(page, person)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goto('/app/sign-in')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/app/overview')
    assert.deepEqual(errors, [])
    await close()
  })
}

/** The name of the field that has the focus. */
function focusedField(page: Page): Promise<unknown> {
  return page.evaluate('document.activeElement?.name')
}
