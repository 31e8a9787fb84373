// Shared by tests of servers: an organization with users and keys, and bodies that create servers.
import assert from 'node:assert/strict'
import { openTestApp } from './harness.ts'
import { createMember, createPerson, createTestTree, grantRole } from './world.ts'

export const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEr3GdJ7BJmoLHslZi9WFRedElkyMy92b11/OCTImp/'
export const KEY_FINGERPRINT = 'SHA256:v/FpwIq2Cew31IC/F/1IvcDdHtOhxOpY6pho/QKmeTc'

export const fieldsOf = ({ body }: { body: { errors: object } }) => Object.keys(body.errors).sort()

export async function openServers(...args: Parameters<typeof openTestApp>) {
  const api = await openTestApp(...args)
  const { db } = api
  const tree = await createTestTree(db)
  const [admin, developer, viewer] = await Promise.all([
    createMember(db, tree, 'admin'),
    createMember(db, tree, 'developer'),
    createMember(db, tree, 'viewer'),
  ])
  const instanceAdmin = await createPerson(db, { admin: true })
  await grantRole(db, instanceAdmin.id, 'admin', { organizationId: tree.organizationId })

  const list = `/environments/${tree.environmentId}/servers`
  const ask = (method: string, url: string, body?: unknown, as = admin, headers?: Record<string, string>) =>
    api.request(method, url, { token: as.token, body, headers })

  async function makeCredential(body: object): Promise<{ id: number; public_key: string }> {
    const made = await ask('POST', `/organizations/${tree.organizationId}/credentials`, body)
    assert.equal(made.status, 201, made.text)
    return made.body
  }
  const makeKey = (name: string) => makeCredential({ name, provider_code: 'ssh', generate: true })
  const keys = await Promise.all([makeKey('one'), makeKey('two')])

  let count = 0
  const ssh = (more: object = {}) => ({
    name: `server-${++count}`,
    provider_code: 'ssh',
    host: 'web.example.com',
    login_name: 'deploy',
    credential_id: keys[0].id,
    root_directory: '/srv',
    ...more,
  })
  const create = async (more: object = {}, as = admin) => {
    const made = await ask('POST', list, ssh(more), as)
    assert.equal(made.status, 201, made.text)
    return made.body
  }

  return {
    api,
    db,
    tree,
    admin,
    developer,
    viewer,
    instanceAdmin,
    list,
    ask,
    makeCredential,
    keys,
    ssh,
    create,
  }
}
