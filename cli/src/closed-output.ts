/** A closed pipe (`gantry … | head`) means that its reader has enough: the command ends quietly. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'EPIPE') process.exit(1)
      // Without a reader of messages the exit code still says what happened.
      if (stream === process.stdout) process.exit(0)
    })
}
