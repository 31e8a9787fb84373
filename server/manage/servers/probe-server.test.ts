import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProbe } from './probe-server.ts'

test('the probe is found among the output of the login shell', () => {
  const output = [
    'Welcome to web-1, user friend',
    'user deploy',
    'disk /dev/mapper/a very long name 41152736 3031400 36000512  8% /srv',
    'writable',
    '',
  ].join('\n')
  assert.deepEqual(parseProbe(output), {
    user: 'deploy',
    freeDiskBytes: 36000512 * 1024,
    rootDirectoryWritable: true,
  })
})

test('what the probe does not report is unknown', () => {
  assert.deepEqual(parseProbe('user deploy\ndisk \n'), {
    user: 'deploy',
    freeDiskBytes: null,
    rootDirectoryWritable: false,
  })
  assert.deepEqual(parseProbe(''), { user: null, freeDiskBytes: null, rootDirectoryWritable: false })
})
