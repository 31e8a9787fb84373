import assert from 'node:assert/strict'
import { it } from 'node:test'
import { databaseOfProcess } from '#test/support/database.ts'
import { ADMIN_ENVIRONMENT, startGantry, temporaryHome } from '#test/support/process.ts'
import { EXCEPTED, WRITES, writingOperations } from './writes.ts'

it('the pages can do everything that the API can do', async (t) => {
  const database = await databaseOfProcess(t)
  const { url } = await startGantry(t, {
    ...ADMIN_ENVIRONMENT,
    ...database,
    GANTRY_HOME: await temporaryHome(t),
  })
  const known = (await writingOperations(url!)).map(({ id }) => id)
  const covered = new Set(Object.values(WRITES).flat())
  const missing = known.filter((id) => !covered.has(id) && !Object.hasOwn(EXCEPTED, id))
  assert.deepEqual(missing, [], 'no page test performs these operations')
  const unknown = [...covered, ...Object.keys(EXCEPTED)].filter((id) => !known.includes(id))
  assert.deepEqual(unknown, [], 'writes.ts lists operations that the API does not have')
  const both = Object.keys(EXCEPTED).filter((id) => covered.has(id))
  assert.deepEqual(both, [], 'writes.ts excepts operations that a page test performs')
})
