// What no HTTP client would send: garbage, endless headers and bodies, or a slow trickle of bytes.
import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { suite, test } from 'node:test'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import { assertRefused } from '#test/support/refusals.ts'
import { createPerson } from '#test/support/world.ts'

suite('over a real connection', () => {
  const TIMEOUT_MS = 200

  async function listen(t: Parameters<typeof openTestApp>[0]) {
    const test = await openTestApp(t, { environment: { GANTRY_REQUEST_TIMEOUT_MS: String(TIMEOUT_MS) } })
    await test.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = test.app.server.address() as AddressInfo
    return {
      ...test,
      speak: (...texts: string[]) => speak(port, texts),
      trickle: (text: string) => trickle(port, text),
    }
  }

  test('garbage is 400', async (t) => {
    const { speak } = await listen(t)
    const wrong = [
      'hello\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n',
      'POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n',
      'POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n',
    ]
    for (const text of wrong) assertRefused(await speak(text), 'malformed')
  })

  test('endless headers are 431', async (t) => {
    const { speak } = await listen(t)
    assertRefused(
      await speak(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`),
      'headers_too_large',
    )
  })

  test('a body declared as too large is rejected before it is sent', async (t) => {
    const { speak } = await listen(t)
    const head =
      'POST /users/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n'
    assertRefused(await speak(`${head}Content-Length: 10485760\r\n\r\n`), 'too_large')
  })

  test('a body that becomes too large without declaring it is rejected', async (t) => {
    const { speak } = await listen(t)
    const head =
      'POST /users/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n'
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const answer = await speak(`${head}Transfer-Encoding: chunked\r\n\r\n`, ...Array<string>(17).fill(chunk))
    assertRefused(answer, 'too_large')
  })

  test('headers that trickle in are 408', async (t) => {
    const { trickle } = await listen(t)
    assertRefused(await trickle('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '), 'request_timeout')
  })

  test('a body that trickles in is 408', async (t) => {
    const { trickle } = await listen(t)
    const head =
      'POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n'
    assertRefused(await trickle(head), 'request_timeout')
  })

  test('a request line may contain an absolute URL', async (t) => {
    const { speak, db } = await listen(t)
    const { token } = await createPerson(db)
    const rest = `HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`
    const list = await speak(`GET http://proxy.example:8080/users/personal-access-tokens?per_page=5 ${rest}`)
    assert.equal(list.status, 200)
    const page = 'http://gantry.test/users/personal-access-tokens?per_page=5&page=1'
    assert.equal(list.headers.link, `<${page}>; rel="first", <${page}>; rel="last"`)
    assertRefused(await speak(`POST http://proxy.example/users/me ${rest}`), 'method_not_allowed')
  })
})

/** Sends raw text, chunk after chunk as the connection accepts them, and reads the response to its end. */
function speak(port: number, texts: string[]): Promise<Answer> {
  return converse(port, (socket) => {
    for (const text of texts) socket.write(text, 'latin1')
  })
}

/** Sends a beginning and then a byte at a time, until the other side closes the connection. */
function trickle(port: number, beginning: string): Promise<Answer> {
  return converse(port, (socket) => {
    socket.write(beginning)
    const timer = setInterval(() => socket.write('x'), 20)
    socket.once('close', () => clearInterval(timer))
  })
}

function converse(port: number, talk: (socket: ReturnType<typeof connect>) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => talk(socket))
    const chunks: Buffer[] = []
    // A connection that is cut off while sending may end with a reset, after the response.
    socket.on('error', () => {})
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    socket.on('close', () => {
      const [head = '', text = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
      const [line = '', ...fields] = head.split('\r\n')
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1])
      if (Number.isNaN(status)) return reject(new Error(`No answer but: ${head}`))
      const headers = Object.fromEntries(
        fields.map((field) => [
          field.split(':', 1)[0]!.toLowerCase(),
          field.slice(field.indexOf(':') + 1).trim(),
        ]),
      )
      resolve({ status, headers, text, body: text === '' ? undefined : JSON.parse(text) })
    })
  })
}
