"""Values with uncertainty budgets by the GUM (JCGM 100:2008): how terms are found and how they combine."""
