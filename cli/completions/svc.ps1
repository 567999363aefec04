# Completion of svc for PowerShell. Versions before 7.3 drop an empty argument, so it is written as "".
Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $current = if ($wordToComplete) { $wordToComplete } else { '""' }
  & svc __complete @words $current 2>$null | Where-Object { $_ -ne ':files' } | ForEach-Object {
    $word, $description = $_ -split "`t", 2
    if (-not $description) { $description = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $description)
  }
}
