// Certificates of a private authority, made by OpenSSL.
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** An authority, and what it signed for the name localhost. */
export async function makeCertificates(t: Closer) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-certificates-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: folder })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-days', '2']
  await openssl('req', '-x509', ...newKey, '-subj', '/CN=Authority', '-keyout', 'ca.key', '-out', 'ca.pem')
  await writeFile(join(folder, 'names'), 'subjectAltName = DNS:localhost\n')
  const request = [
    ...newKey.slice(0, 5),
    '-subj',
    '/CN=localhost',
    '-keyout',
    'key.pem',
    '-out',
    'request.pem',
  ]
  await openssl('req', '-new', ...request)
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
  await openssl('x509', '-req', '-in', 'request.pem', ...signed, '-out', 'certificate.pem')
  return {
    authority: join(folder, 'ca.pem'),
    certificate: join(folder, 'certificate.pem'),
    key: join(folder, 'key.pem'),
  }
}
