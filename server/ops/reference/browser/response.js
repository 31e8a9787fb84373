import { copyButton } from './code.js'
import { element } from './dom.js'

/** More is cut off: a browser shows a few hundred thousand characters well, not millions. */
const MAX_CHARACTERS = 256 * 1024

/**
 * Sends a request to this origin and shows what comes back; a stream as it arrives. Cookies are neither sent nor
 * kept: what happens is what the curl command does.
 * @param {HTMLElement} output
 * @param {{ method: string, url: string, headers: Headers, body: string | undefined }} request
 * @param {AbortSignal} signal
 */
export async function showResponse(output, { method, url, headers, body }, signal) {
  const status = element('p', { className: 'result', role: 'status' }, 'Sending…')
  output.replaceChildren(status)
  const startedAt = performance.now()
  try {
    const response = await fetch(new URL(url, location.origin), {
      method,
      headers,
      body,
      signal,
      credentials: 'omit',
      cache: 'no-store',
    })
    const ms = Math.round(performance.now() - startedAt)
    status.replaceChildren(
      element('code', { className: `status s${String(response.status)[0]}` }, String(response.status)),
      ` ${response.statusText} in ${ms} ms`,
    )
    const code = element('code')
    const note = element('p', { className: 'hint' })
    output.append(renderHeaders(response.headers))
    const text = await readText(response, (soFar) => {
      code.textContent = soFar
      if (!code.isConnected) output.append(renderBody(code), note)
    })
    code.textContent = format(text, response.headers.get('content-type') ?? '')
    if (text.length >= MAX_CHARACTERS) note.textContent = 'Cut off here: use curl to see all of it.'
  } catch {
    status.append(signal.aborted ? ' Stopped.' : ' The service did not respond.')
  }
}

/**
 * @param {Response} response
 * @param {(soFar: string) => void} onText
 */
async function readText(response, onText) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (reader && text.length < MAX_CHARACTERS) {
    const { done, value } = await reader.read()
    if (done) return text
    text = (text + value).slice(0, MAX_CHARACTERS)
    onText(text)
  }
  await reader?.cancel()
  return text
}

/** @param {HTMLElement} code */
function renderBody(code) {
  const copy = copyButton(() => code.textContent)
  return element(
    'figure',
    { className: 'code' },
    element('figcaption', {}, element('span', {}, 'Body'), copy),
    element('pre', { role: 'group', 'aria-label': 'Response body' }, code),
  )
}

/** @param {Headers} headers */
function renderHeaders(headers) {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`)
  return element(
    'details',
    {},
    element('summary', {}, `Headers (${lines.length})`),
    element('pre', {}, element('code', {}, lines.join('\n'))),
  )
}

/**
 * Indented JSON whose numbers keep their digits, where the browser can tell them.
 * @param {string} text
 * @param {string} type
 */
function format(text, type) {
  if (!/\bjson\b/.test(type)) return text
  try {
    const exact = /** @type {any} */ (JSON)
    const keep = (/** @type {string} */ _key, /** @type {unknown} */ value, /** @type {any} */ context) =>
      typeof value === 'number' && exact.rawJSON && context?.source ? exact.rawJSON(context.source) : value
    return JSON.stringify(exact.parse(text, keep), null, 2)
  } catch {
    return text
  }
}
