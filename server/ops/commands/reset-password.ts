// `npm run reset-password -- <email>`
import { sql } from 'kysely'
import { createPasswordReset } from '#access/accounts/password-resets.ts'
import { baseUrlOf } from '#platform/config.ts'
import { type Database, openDatabase } from '#platform/database/connect.ts'
import { toApiError } from '#platform/http/problems.ts'
import { runCommand, UsageError } from './command.ts'
import { reachDatabase } from './reach-database.ts'

/** Nobody is signed in: running this on the machine is the permission. */
const THIS_MACHINE = { userId: null, ipAddress: null, requestId: null }

await runCommand('reset-password', async ({ config, print }) => {
  const [email, ...more] = process.argv.slice(2)
  if (!email || more.length > 0) throw new UsageError('usage: npm run reset-password -- <email>')
  await using reached = await reachDatabase(config, { create: false, print })
  await using opened = new AsyncDisposableStack()
  const { db, close } = openDatabase(reached.settings, { max: 1, onIdleError: () => {} })
  opened.defer(close)
  const id = await findUser(db, email)
  const link = await createPasswordReset(db, id, THIS_MACHINE, baseUrlOf(config, config.port))
  if (link.kind !== 'done') throw new UsageError(toApiError(link).message)
  print(`${email} is signed out everywhere. Set a new password within one hour, at:`)
  print(link.url)
})

async function findUser(db: Database, email: string): Promise<number> {
  const { rows } = await sql`select where to_regclass('password_resets') is not null`.execute(db)
  if (rows.length === 0) throw new UsageError('The database is from an earlier version: run npm start first.')
  const user = await db
    .selectFrom('users')
    .select('id')
    .where(sql`lower(email)`, '=', email.toLowerCase())
    .executeTakeFirst()
  if (!user) throw new UsageError(`There is no account with the email address ${email}.`)
  return user.id
}
