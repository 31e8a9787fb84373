/** `Deploy shop #42`; `Run #42` where the name of its pipeline is not known. */
export function runTitle(pipelineName: string | undefined, id: number): string {
  return `${pipelineName ?? 'Run'} #${id}`
}
