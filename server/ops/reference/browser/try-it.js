import { confirmDelete } from './confirm.js'
import { element, find, findAll } from './dom.js'
import { showResponse } from './response.js'
import { readToken } from './token.js'

/** @typedef {{ in: string, name: string, required: boolean, input: HTMLInputElement }} Field */

/** A button at every call that opens a form for it; the form is made when it is first opened. */
export function installTryIt() {
  for (const article of findAll(document, 'article.operation')) {
    const button = element(
      'button',
      { type: 'button', className: 'try primary', 'aria-expanded': 'false' },
      'Try it',
    )
    /** @type {HTMLFormElement | undefined} */
    let form
    button.addEventListener('click', () => {
      const isOpen = form !== undefined && !form.hidden
      form ??= createForm(article)
      form.hidden = isOpen
      button.setAttribute('aria-expanded', String(!isOpen))
      if (!form.isConnected) button.after(form)
    })
    findAll(article, '.samples > figure').at(-1)?.after(button)
  }
}

/**
 * @param {HTMLElement} article
 * @returns {HTMLFormElement}
 */
function createForm(article) {
  const fields = readFields(article)
  const sample = article.querySelector('template.body')
  const body =
    sample || article.querySelector('h4.body')
      ? element('textarea', {
          rows: 8,
          spellcheck: false,
          value: sample instanceof HTMLTemplateElement ? sample.content.textContent : '',
        })
      : undefined
  const send = element('button', { className: 'primary' }, 'Send')
  const stop = element('button', { type: 'button', hidden: true }, 'Stop')
  const output = element('div', { className: 'response' })
  const optional = fields.filter(({ required }) => !required)
  const form = element(
    'form',
    { className: 'attempt', noValidate: true, 'aria-label': `Try it: ${find(article, 'h3').textContent}` },
    ...fields.filter(({ required }) => required).map(renderField),
    ...(optional.length > 0
      ? [
          element(
            'details',
            {},
            element('summary', {}, `Optional parameters (${optional.length})`),
            ...optional.map(renderField),
          ),
        ]
      : []),
    ...(body ? [element('label', {}, 'Body', body)] : []),
    element('div', { className: 'row' }, send, stop),
    output,
  )
  /** @type {AbortController | undefined} */
  let running
  stop.addEventListener('click', () => running?.abort())
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const missing = fields.find(({ required, input }) => required && input.value === '')
    if (missing) {
      missing.input.setAttribute('aria-invalid', 'true')
      return missing.input.focus()
    }
    const request = buildRequest(article, fields, body?.value ?? '')
    if (request.method === 'DELETE' && !(await confirmDelete(request.url))) return
    running?.abort()
    running = new AbortController()
    stop.hidden = false
    await showResponse(output, request, running.signal)
    stop.hidden = true
  })
  return form
}

/**
 * @param {HTMLElement} article
 * @returns {Field[]}
 */
function readFields(article) {
  return findAll(article, 'li[data-in]').map((item) => ({
    in: item.dataset.in ?? '',
    name: find(item, '.field code').textContent,
    required: item.querySelector('.required') !== null,
    input: element('input', {
      autocomplete: 'off',
      spellcheck: false,
      placeholder: find(item, '.type').textContent,
    }),
  }))
}

/** @param {Field} field */
function renderField({ name, required, input }) {
  input.addEventListener('input', () => input.removeAttribute('aria-invalid'))
  if (required) input.required = true
  return element('label', {}, name, input)
}

/**
 * @param {HTMLElement} article
 * @param {Field[]} fields
 * @param {string} body
 */
function buildRequest(article, fields, body) {
  const {
    method = 'GET',
    path = '/',
    accept = 'application/json',
    type = 'application/json',
  } = article.dataset
  const filled = fields.filter(({ input }) => input.value !== '')
  const valuesIn = (/** @type {string} */ location) => filled.filter((field) => field.in === location)
  const query = new URLSearchParams(
    valuesIn('query').map(({ name, input }) => /** @type {[string, string]} */ ([name, input.value])),
  )
  const url = valuesIn('path').reduce(
    (text, { name, input }) => text.replace(`{${name}}`, () => encodeURIComponent(input.value)),
    path,
  )
  const token = readToken()
  const headers = new Headers({ accept })
  for (const { name, input } of valuesIn('header')) headers.set(name, input.value)
  if (token !== '' && !('public' in article.dataset)) headers.set('authorization', `Bearer ${token}`)
  if (body.trim() !== '') headers.set('content-type', type)
  return {
    method,
    url: query.size > 0 ? `${url}?${query}` : url,
    headers,
    body: body.trim() === '' ? undefined : body,
  }
}
