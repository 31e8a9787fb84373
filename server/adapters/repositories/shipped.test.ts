import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { makeRepository } from '#test/support/repository.ts'
import { listAuthors, listPins, pinCommit, removePins, shipsMore } from './shipped.ts'

// main: a – b – c, side: a – x
const made = await makeRepository({ after })
const by = (name: string) => ({ author: { name, email: `${name}@Example.com` } })
const a = await made.commit({ a: '' }, by('Ada'))
await made.branch('side', a)
const b = await made.commit({ b: '' }, by('Bo'))
const c = await made.commit({ c: '' }, by('Cy'))
const x = await made.commit({ x: '' }, { branch: 'side', ...by('Xi') })
const repo = { repository: made.folder, signal: new AbortController().signal }

suite('what ships', () => {
  test('has the authors of every commit that is not live, in lower case', async () => {
    const authors = async (live: string | null) => (await listAuthors(repo, { live, to: c }))?.toSorted()
    assert.deepEqual(await authors(b), ['cy@example.com'])
    assert.deepEqual(await authors(null), ['ada@example.com', 'bo@example.com', 'cy@example.com'])
    assert.deepEqual(await authors(c), [])
    assert.equal(await authors('f'.repeat(40)), undefined)
  })

  const more = (shown: string | null, live: string | null, to = c) => shipsMore(repo, { shown, live, to })

  test('is not more when less is left to ship, or the same', async () => {
    for (const shown of [null, a, b, c, x]) assert.equal(await more(shown, shown), false)
    assert.equal(await more(a, b), false)
    assert.equal(await more(null, a), false)
    assert.equal(await more(a, c), false)
    assert.equal(await more(x, a), false, 'nothing is undone any more')
  })

  test('is more when a commit ships, or is undone, that was not shown', async () => {
    assert.equal(await more(b, a), true)
    assert.equal(await more(b, null), true)
    assert.equal(await more(a, x), true)
    assert.equal(await more(null, x), true)
    assert.equal(await more(a, c, b), true)
    assert.equal(await more(x, a, a), false)
  })

  test('is unknown when a commit is', async () => {
    assert.equal(await more(a, 'f'.repeat(40)), undefined)
    assert.equal(await more('f'.repeat(40), a), undefined)
  })
})

test('pinned commits stay until they are removed', async () => {
  assert.equal(await pinCommit(repo, [7], c), true)
  assert.equal(await pinCommit(repo, [8], a), true)
  assert.equal(await pinCommit(repo, [9], 'f'.repeat(40)), false)
  assert.deepEqual(await listPins(repo), [7, 8])
  await removePins(repo, [7, 9])
  assert.deepEqual(await listPins(repo), [8])
})
