import { element, find } from './dom.js'

/** Ends with the tab, and is sent to this origin only. */
const KEY = 'gantry-reference-token'

/** @returns {string} */
export function readToken() {
  return sessionStorage.getItem(KEY) ?? ''
}

/** The place to enter a token, which says at once whether it works. */
export function installToken() {
  const input = element('input', {
    type: 'password',
    id: 'token-input',
    autocomplete: 'off',
    spellcheck: false,
    placeholder: 'gty_pat_…',
    value: readToken(),
  })
  const status = element('p', { role: 'status', id: 'token-status' })
  const forget = element('button', { type: 'button', hidden: readToken() === '' }, 'Forget')
  const form = element(
    'form',
    { className: 'token', 'aria-label': 'Token for Try it' },
    element('label', { htmlFor: 'token-input' }, 'Token for Try it'),
    element('div', { className: 'row' }, input, element('button', { className: 'primary' }, 'Use'), forget),
    element('p', { className: 'hint' }, 'Kept in this tab only, and sent to this service only.'),
    status,
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const token = input.value.trim().replace(/^Bearer +/i, '')
    if (token === '') return clear()
    sessionStorage.setItem(KEY, token)
    input.value = token
    forget.hidden = false
    status.textContent = 'Checking…'
    status.textContent = await check(token)
  })
  forget.addEventListener('click', () => {
    clear()
    input.focus()
  })
  function clear() {
    sessionStorage.removeItem(KEY)
    input.value = ''
    forget.hidden = true
    status.textContent = 'No token.'
  }
  find(document, '#token').append(form)
}

/**
 * @param {string} token
 * @returns {Promise<string>}
 */
async function check(token) {
  try {
    const response = await fetch('/users/me', {
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
      credentials: 'omit',
      cache: 'no-store',
    })
    const { name, email, message } = await response.json()
    return response.ok ? `Signed in as ${name} (${email}).` : `${response.status}: ${message}`
  } catch (error) {
    // A character that no header can carry is the only cause besides the network.
    return error instanceof TypeError && /[^\x21-\x7e]/.test(token)
      ? 'This is not a token: it has characters that no token has.'
      : 'The service did not respond.'
  }
}
