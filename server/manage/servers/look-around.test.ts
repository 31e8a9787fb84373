import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOutput } from './look-around.ts'

test('what a server says of itself is found among what its login shell says', () => {
  const output = [
    'Welcome to web-1, user friend',
    'user deploy',
    'disk /dev/mapper/a very long name 41152736 3031400 36000512  8% /srv',
    'writable',
    '',
  ].join('\n')
  assert.deepEqual(readOutput(output), {
    user: 'deploy',
    freeDiskBytes: 36000512 * 1024,
    rootDirectoryWritable: true,
  })
})

test('what is not said is not known', () => {
  assert.deepEqual(readOutput('user deploy\ndisk \n'), {
    user: 'deploy',
    freeDiskBytes: null,
    rootDirectoryWritable: false,
  })
  assert.deepEqual(readOutput(''), { user: null, freeDiskBytes: null, rootDirectoryWritable: false })
})
