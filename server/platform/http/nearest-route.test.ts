import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestRoute } from './nearest-route.ts'

const routes = [
  '/actions',
  '/actions/:action_id',
  '/actions/stream',
  '/hooks/:token/trigger',
  '/pipelines/:id/actions',
]
const near = (path: string) => nearestRoute(path, routes)

test('the nearest route is a typo, a prefix or a slash away', () => {
  assert.equal(near('/action'), '/actions')
  assert.equal(near('/Actions'), '/actions')
  assert.equal(near('/actions/'), '/actions')
  assert.equal(near('/api/v1/actions'), '/actions')
  assert.equal(near('/v2/actions/7'), '/actions/{action_id}')
  assert.equal(near('/actions/steam'), '/actions/stream')
  assert.equal(near('/pipeline/7/action'), '/pipelines/{id}/actions')
})

test('a path that resembles no route has no nearest one', () => {
  for (const path of ['/', '/nowhere', '/.env', '/actions/1/2', '/hooks/sideways/1', '/api', '//', '/%00'])
    assert.equal(near(path), undefined, path)
  assert.equal(near(`/actions/${'x'.repeat(600)}`), undefined)
})
