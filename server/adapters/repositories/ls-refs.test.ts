import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lsRefsRequest, readLsRefs, readLsRemote } from './ls-refs.ts'

const HASH = 'a'.repeat(40)

test('the request names each branch, with its length in bytes', () => {
  assert.equal(
    lsRefsRequest(['main', 'größe']).toString(),
    '0014command=ls-refs\n0001001fref-prefix refs/heads/main\n0022ref-prefix refs/heads/größe\n0000',
  )
})

test('an answer lists branches until its end', () => {
  const line = `003d${HASH} refs/heads/main\n`
  assert.deepEqual([...readLsRefs(Buffer.from(`${line}0000`))!], [['main', HASH]])
  assert.deepEqual([...readLsRefs(Buffer.from('0000'))!], [])
  for (const body of ['', '<html>', line, `${line.slice(0, -3)}`, 'ffff', '0004', `0009hello0000`])
    assert.equal(readLsRefs(Buffer.from(body)), null, body)
})

test('what git lists is read line by line', () => {
  const output = `${HASH}\trefs/heads/main\nnonsense\n${HASH}\trefs/tags/v1\n`
  assert.deepEqual([...readLsRemote(output)], [['main', HASH]])
})
