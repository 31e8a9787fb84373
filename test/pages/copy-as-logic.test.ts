import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { cutDocument } from '#web/shared/copy-as/cut-document.ts'
import { defaultCommand, defaultCurl } from '#web/shared/copy-as/resource.ts'

const DOCUMENT = `# These values are required:
#   GITHUB_TOKEN
#   PRODUCTION_SHOP_PASSWORD
organization: Example
project:
  name: Shop
credentials:
  GitHub:
    auth_type: token
    token: \${GITHUB_TOKEN}
environments:
  production:
    type: production
    servers:
      web-1:
        host: web-1.example.com
        pipelines:
          Restart:
            operation: restart
      web-2:
        host: web-2.example.com
    applications:
      __proto__:
        repository: https://example.com/other.git
      shop:
        repository: https://example.com/shop.git
        credential: GitHub
        servers: [ web-1 ]
        variables:
          PASSWORD:
            value: \${PRODUCTION_SHOP_PASSWORD}
            hidden: true
        pipelines:
          Deploy:
            operation: deploy
            steps:
              - name: build
                command: echo $\${HOME}
            hooks:
              incoming:
                GitHub:
                  settings:
                    conditions:
                      - value: 12345678901234567890
              outgoing:
                Chat:
                  target_url: https://example.com
  staging:
    type: staging
`

const SHOP = ['environments', 'production', 'applications', 'shop']

describe('a part of a gantry.yaml', () => {
  it('is the resource with all that it contains, and the fields of what it is in', () => {
    const text = cutDocument(DOCUMENT, SHOP)!
    const { credentials, environments, ...head } = parse(text)
    assert.deepEqual(head, { organization: 'Example', project: { name: 'Shop' } })
    assert.equal(credentials, undefined)
    assert.deepEqual(Object.keys(environments), ['production'])
    assert.deepEqual(Object.keys(environments.production), ['type', 'applications'])
    const whole = parse(DOCUMENT).environments.production.applications.shop
    assert.deepEqual(environments.production.applications, { shop: whole })
    assert.ok(text.startsWith('# These values are required:\n#   PRODUCTION_SHOP_PASSWORD\norganization:'))
  })

  it('leaves out siblings on every level, and numbers as they are', () => {
    const text = cutDocument(DOCUMENT, [...SHOP, 'pipelines', 'Deploy', 'hooks', 'incoming', 'GitHub'])!
    assert.match(text, /value: 12345678901234567890\n/)
    const { shop } = parse(text).environments.production.applications
    assert.deepEqual(Object.keys(shop), ['repository', 'credential', 'servers', 'pipelines'])
    assert.deepEqual(Object.keys(shop.pipelines.Deploy), ['operation', 'hooks'])
    assert.deepEqual(Object.keys(shop.pipelines.Deploy.hooks), ['incoming'])
    assert.doesNotMatch(text, /required/)
  })

  it('may be a credential, whose secret stays a placeholder, or have any name', () => {
    const credential = parse(cutDocument(DOCUMENT, ['credentials', 'GitHub'])!)
    assert.equal(credential.credentials.GitHub.token, `\${GITHUB_TOKEN}`)
    assert.equal(credential.environments, undefined)
    const odd = cutDocument(DOCUMENT, ['environments', 'production', 'applications', '__proto__'])!
    assert.match(odd, /__proto__:\n +repository: https:\/\/example.com\/other.git/)
    assert.doesNotMatch(odd, /shop/)
    assert.match(cutDocument('environments: {"<<": {type: staging}}', ['environments', '<<'])!, /^ +"<<":$/m)
    assert.equal(cutDocument(DOCUMENT, ['environments', 'nowhere']), undefined)
    assert.equal(cutDocument(DOCUMENT, []), DOCUMENT)
  })
})

describe('a command', () => {
  it('names what it shows by its id', () => {
    const server = { type: 'server' as const, id: 12, name: 'web-1', organizationId: 1 }
    assert.equal(defaultCommand(server), "gantry servers show '#12'")
    assert.deepEqual(defaultCurl(server), { method: 'GET', path: '/servers/12' })
    const hook = { ...server, type: 'incoming_hook' as const, id: 'a-b' }
    assert.equal(defaultCommand(hook), 'gantry hooks show a-b')
    assert.equal(defaultCurl(hook).path, '/hooks/incoming/a-b')
    const project = { ...server, type: 'project' as const, name: "Tom's" }
    assert.equal(defaultCommand(project), `gantry export 'Tom'\\''s'`)
  })
})
