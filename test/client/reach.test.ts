import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Reach, reachOf, reachProblem } from '#client/index.ts'

const URLS: Record<Reach, string[]> = {
  loopback: [
    'http://127.0.0.1:7070/hooks/x/trigger',
    'http://localhost',
    'http://LOCALHOST.:7070',
    'http://gantry.localhost',
    'http://0x7f.1',
    'http://2130706433/',
    'http://0.0.0.0:7070',
    'http://[::1]:7070',
    'http://[::]',
    'http://[::ffff:127.0.0.1]',
  ],
  private: [
    'http://10.1.2.3',
    'http://172.16.0.1',
    'https://172.31.255.255',
    'http://192.168.1.20:7070',
    'http://169.254.1.1',
    'http://100.64.0.1',
    'http://[fd12::1]',
    'http://[fe80::1]',
    'http://[::ffff:10.0.0.1]',
    'http://gantry:7070',
    'https://gantry.local',
    'https://gantry.corp',
    'https://gantry.home.arpa',
    'https://ci.internal.',
    'not a URL',
  ],
  public: [
    'https://gantry.example.com',
    'https://local.example.com',
    'http://172.32.0.1',
    'http://172.15.0.1',
    'http://100.128.0.1',
    'http://8.8.8.8',
    'http://[2001:db8::1]',
    'http://127.example.com',
  ],
}

describe('who reaches a base URL', () => {
  for (const [reach, urls] of Object.entries(URLS))
    for (const url of urls) it(`${reach}: ${url}`, () => assert.equal(reachOf(url), reach))

  it('names the setting where others cannot, and nothing where they can', () => {
    for (const url of [URLS.loopback[0]!, URLS.private[0]!])
      assert.match(reachProblem(url) ?? '', /Set GANTRY_URL to/)
    assert.match(reachProblem('http://127.0.0.1:7070/hooks/x') ?? '', /http:\/\/127\.0\.0\.1:7070\./)
    assert.equal(reachProblem(URLS.public[0]!), undefined)
  })
})
